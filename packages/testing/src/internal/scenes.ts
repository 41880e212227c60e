/** All scenes. */
export { person } from "./personScenes.ts"
export { backlog, pages, queue } from "./queueScenes.ts"
export * from "./recordScenes.ts"
export { after, type Scene } from "./scene.ts"
