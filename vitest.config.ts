import { defineConfig } from "vitest/config"
import { LongestFirst } from "./tools/test-support/src/LongestFirst.ts"
import { SlowestFiles } from "./tools/test-support/src/SlowestFiles.ts"
import projects from "./vitest.workspace.ts"

// Settings of all projects in vitest.workspace.ts.
export default defineConfig({
  test: {
    projects,
    reporters: ["default", new SlowestFiles()],
    sequence: { sequencer: LongestFirst },
    // More than cores: tests mostly wait. `npm run test:system` has fewer, because its processes need cores themselves.
    maxWorkers: 4,
    // With fewer workers, tinypool ends a worker that still has a task.
    minWorkers: 4,
    // Loading `effect` takes longer than most files of the fast tier. vitest reads this here, not from a project.
    poolOptions: { forks: { isolate: false } },
    teardownTimeout: 20_000
  }
})
