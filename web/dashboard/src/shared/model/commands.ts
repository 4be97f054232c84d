// Builds command lines that are equivalent to the page's actions.

import { unfinished } from './protocol';
import type { ProgramView } from './programs';
import { isOver, retryableOf } from './counts';
import type { ClosureView, JobView } from './views';

type Lines = [what: string, line: string][];

// Quotes text for a shell.
export const quoted = (text: string): string => (/^[\w.,:/@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

// Returns the command line as a user would type it.
export const commandLine = (words: readonly string[]): string => words.map((word) => (word === '' ? "''" : quoted(word))).join(' ');

export function jobCommands(job: JobView, origin: string): Lines {
  const url = ` --url ${quoted(origin)}`;
  const of = `${origin}/api/v1/jobs/${encodeURIComponent(job.id)}`;
  const lines: Lines = [
    ['show', `muster jobs ${quoted(job.id)}${url}`],
    ['print the log', `muster logs ${quoted(job.id)}${url}`],
    ['fetch the results', `muster fetch ${quoted(job.id)}${url}`],
    ['failed closures as JSON', `curl ${quoted(`${of}/closures?state=FAILED`)}`],
  ];
  if (unfinished(job.state)) lines.push(['cancel', `muster cancel ${quoted(job.id)}${url}`]);
  else if (!job.streaming && retryableOf(job.counts) > 0) lines.push(['retry', `muster retry ${quoted(job.id)}${url}`]);
  return lines;
}

export function closureCommands(closure: ClosureView, origin: string): Lines {
  const id = quoted(closure.id);
  const of = `${origin}/api/v1/closures/${encodeURIComponent(closure.id)}`;
  const hint = closure.history ? `?job=${encodeURIComponent(closure.job)}` : '';
  const lines: Lines = [
    ['explain', `muster explain ${id} --url ${quoted(origin)}`],
    ['print the log', `muster logs ${id} --url ${quoted(origin)}`],
    ['the closure as JSON', `curl ${quoted(of + hint)}`],
  ];
  if (!isOver(closure)) lines.push(['cancel', `muster cancel ${id} --url ${quoted(origin)}`]);
  if (closure.remote_value && closure.value_status === 'READY' && closure.state === 'SUCCEEDED' && !closure.value_released)
    lines.push(['fetch the value', `curl ${quoted(`${origin}/api/v1/remote_values/${closure.remote_value}/value`)}`]);
  return lines;
}

export function programCommands(p: ProgramView, origin: string): Lines {
  const id = quoted(p.id);
  const url = ` --url ${quoted(origin)}`;
  const lines: Lines = [
    ['show', `muster programs show ${id}${url}`],
    ['ranks as JSON', `curl ${quoted(`${origin}/api/v1/programs/${encodeURIComponent(p.id)}/ranks`)}`],
  ];
  if (!isOver(p)) lines.push(['ask the program to stop', `muster programs stop ${id}${url}`], ['cancel', `muster programs cancel ${id}${url}`], ['restart', `muster programs restart ${id}${url}`]);
  return lines;
}

export function workerCommands(task: string, cluster: string, main: boolean, origin: string): Lines {
  const more = `${main ? '' : ` --cluster ${quoted(cluster)}`} --url ${quoted(origin)}`;
  const [job = '', index = ''] = splitTask(task);
  return [
    ['the task as JSON', `curl ${quoted(`${origin}/api/v1/clusters/${encodeURIComponent(cluster)}/tasks/${encodeURIComponent(job)}/${index}`)}`],
    ['cordon', `muster cordon ${quoted(task)}${more}`],
    ['uncordon', `muster uncordon ${quoted(task)}${more}`],
    ['drain', `muster drain ${quoted(task)}${more}`],
  ];
}

// Splits "worker:3" into ["worker", "3"]; job names can contain colons.
export function splitTask(task: string): [job: string, index: string] {
  const at = task.lastIndexOf(':');
  return at < 0 ? [task, ''] : [task.slice(0, at), task.slice(at + 1)];
}
