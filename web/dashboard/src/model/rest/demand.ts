// What waits for a worker that there may never be.

export interface Gang {
  job: string;
  gang: string;
  size: number;
  here: number; // members that wait for their start
  first: string;
  function: string;
  since_ms: number;
  possible?: boolean; // the connected workers could hold it
  why: string;
}

export interface Needs {
  task?: string;
  labels?: Record<string, string>;
  resources?: Record<string, number>;
}

export interface Demand {
  needs: Needs;
  functions: string[];
  queued: number;
  workers: number; // that would do, but are draining or cordoned
  first: string;
  job: string;
  since_ms: number;
  why: string;
}

// "only on worker:3, zone=a, gpu=2"
export function needsText({ task, labels, resources }: Needs): string {
  const pairs = (of: Record<string, string | number> = {}) => Object.entries(of).map(([name, value]) => `${name}=${value}`);
  return [...(task ? [`only on ${task}`] : []), ...pairs(labels), ...pairs(resources)].join(', ') || 'the function';
}
