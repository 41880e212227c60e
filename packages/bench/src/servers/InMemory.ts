/** Over the in-memory stores. */
import * as Memory from "@startlist/core/Memory"
import { serve } from "./Prepared.ts"

serve(Memory.layer)
