export { ClosurePage } from '../run/closure-page';
export { JobPage } from '../run/job-page';
export { ProgramPage } from '../run/program-page';
export { WorkerPage } from '../fleet/worker-page';
