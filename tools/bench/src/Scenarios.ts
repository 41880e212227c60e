/** All scenarios, in the order of the document. */
import type { Scenario } from "./Scenario.ts"
import * as Before from "./scenarios/Before.ts"
import * as Commands from "./scenarios/Commands.ts"
import * as Deliveries from "./scenarios/Deliveries.ts"
import * as Distributed from "./scenarios/Distributed.ts"
import * as Fanout from "./scenarios/Fanout.ts"
import * as Growth from "./scenarios/Growth.ts"
import * as Import from "./scenarios/Import.ts"
import * as Requests from "./scenarios/Requests.ts"
import * as Runtimes from "./scenarios/Runtimes.ts"
import * as Service from "./scenarios/Service.ts"
import * as Soak from "./scenarios/Soak.ts"
import * as Space from "./scenarios/Space.ts"
import * as Stores from "./scenarios/Stores.ts"

export const all: ReadonlyArray<Scenario> = [
  Requests.bearer,
  Requests.refresh,
  Requests.bearerOnPostgres,
  Requests.refreshOnPostgres,
  Requests.layers,
  Stores.atStores,
  Stores.alone,
  Deliveries.deliveries,
  Fanout.fanout,
  Growth.growth,
  Space.space,
  Distributed.distributed,
  Soak.soak,
  Service.embedded,
  Service.start,
  Commands.commands,
  Before.before,
  Runtimes.runtimes,
  Import.imports
]
