/** Removes what was built before in the package of the current folder, so that an archive contains nothing of it. */
import { rmSync } from "node:fs"

rmSync("dist", { recursive: true, force: true })
