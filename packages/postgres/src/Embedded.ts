/** The stores in an embedded database in a folder (placeholder while the stores settle). */
export const placeholder = 0
