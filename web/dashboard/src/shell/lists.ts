// The list pages are bundled into one script, because they share code and compress better together.

export { Barriers } from '../agreement/barriers';
export { Events } from '../explore/events';
export { KeyValues } from '../agreement/kv';
export { LogsPage } from '../explore/logs-page';
export { StragglersPage } from '../agreement/stragglers-page';
export { TasksPage } from '../fleet/tasks-page';
export { GangsPage } from '../queue/gangs-page';
export { JobsPage } from '../work/jobs-page';
export { ObjectsPage } from '../explore/objects-page';
export { PerWorkerPage } from '../explore/per-worker-page';
export { ProgramsPage } from '../work/programs-page';
export { SessionsPage } from '../work/sessions-page';
export { ValuesPage } from '../explore/values-page';
