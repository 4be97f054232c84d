// The list pages are bundled into one script, because they share code and compress better together.

export { Barriers } from './barriers';
export { Events } from './events';
export { KeyValues } from './keys/kv';
export { LogsPage } from './logs/logs-page';
export { StragglersPage } from './stragglers-page';
export { TasksPage } from './tasks-page';
export { GangsPage } from './things/gangs-page';
export { JobsPage } from './things/jobs-page';
export { ObjectsPage } from './things/objects-page';
export { PerWorkerPage } from './things/per-worker-page';
export { ProgramsPage } from './things/programs-page';
export { SessionsPage } from './things/sessions-page';
export { ValuesPage } from './things/values-page';
