/** All scenes. */
export * from "./queueScenes.ts"
export * from "./recordScenes.ts"
export { after, early, type Scene } from "./scene.ts"
