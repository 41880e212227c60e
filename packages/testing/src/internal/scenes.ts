/** All scenes. */
export * from "./queueScenes.ts"
export * from "./recordScenes.ts"
export { after, type Scene } from "./scene.ts"
