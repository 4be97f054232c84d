export { ClosurePage } from './things/closure-page';
export { JobPage } from './things/job-page';
export { ProgramPage } from './things/program-page';
export { WorkerPage } from './things/worker-page';
