// The page of a job, session or program.

import { subject } from '../shared/route';
import { JobRun } from './job-page';
import { ProgramRun } from './program-page';

export function RunPage() {
  return subject.value.startsWith('prog_') ? <ProgramRun /> : <JobRun />;
}
