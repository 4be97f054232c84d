// The detail pages as one script: see lists.ts.

export { ClosurePage } from './things/closure-page';
export { JobPage } from './things/job-page';
export { ProgramPage } from './things/program-page';
export { WorkerPage } from './things/worker-page';
