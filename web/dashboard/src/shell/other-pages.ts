// All pages except Now, and the dialogs. They are one script, because they share code and compress better together.

import type { ComponentType } from 'preact';
import { Barriers } from '../agreement/barriers';
import { KeyValues } from '../agreement/kv';
import { StragglersPage } from '../agreement/stragglers-page';
import { Events } from '../explore/events';
import { LogsPage } from '../explore/logs-page';
import { ObjectsPage } from '../explore/objects-page';
import { PerWorkerPage } from '../explore/per-worker-page';
import { StreamPage } from '../explore/stream-page';
import { ValuesPage } from '../explore/values-page';
import { FleetPage } from '../fleet/fleet-page';
import { WorkerPage } from '../fleet/worker-page';
import { ChartsPage } from '../now/charts-page';
import { QueuePage } from '../queue/queue-page';
import { ClosurePage } from '../run/closure-page';
import { GraphPage } from '../run/graph-page';
import { RunPage } from '../run/run-page';
import { WorkPage } from '../work/work-page';
import type { Path } from '../shared/model/pages';

export { Palette } from './palette';
export { ServerDialog } from './server-dialog';

export const PAGES: Record<Exclude<Path, '/now'>, ComponentType> = {
  '/now/charts': ChartsPage,
  '/fleet': FleetPage,
  '/fleet/*': WorkerPage,
  '/work': WorkPage,
  '/runs/*': RunPage,
  '/runs/*/graph': GraphPage,
  '/closures/*': ClosurePage,
  '/programs': WorkPage,
  '/runs/prog_*': RunPage,
  '/explore': LogsPage,
  '/explore/stream': StreamPage,
  '/explore/values': ValuesPage,
  '/explore/per-worker': PerWorkerPage,
  '/explore/objects': ObjectsPage,
  '/queue': QueuePage,
  '/sessions': WorkPage,
  '/agreement': Barriers,
  '/agreement/stragglers': StragglersPage,
  '/agreement/keys': KeyValues,
  '/explore/events': Events,
};
