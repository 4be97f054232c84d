// Palette commands for named objects, such as "cordon worker:1".

import type { TaskView } from '../../shared/model/tasks';
import { unfinished } from '../../shared/model/protocol';
import { retryableOf } from '../../shared/model/counts';
import type { JobView } from '../../shared/model/views';
import type { ProgramView } from '../../shared/model/programs';
import { splitTask } from '../../shared/model/commands';

export interface Order {
  title: string;
  detail: string;
  question: string;
  says: string;
  yes: string;
  danger: boolean;
  path: string;
  done: string;
  leads?: 'job'; // if set, the page opens the job in the response
}

const VERBS = ['cordon', 'uncordon', 'drain', 'cancel', 'retry', 'restart'] as const;
type Verb = (typeof VERBS)[number];

export function verbsIn(typed: string): { verbs: readonly Verb[]; rest: string } {
  const [first = '', ...rest] = typed.trim().toLowerCase().split(/\s+/);
  return { verbs: first.length < 3 ? [] : VERBS.filter((verb) => verb.startsWith(first)), rest: rest.join(' ') };
}

const at = (...parts: string[]): string => parts.map(encodeURIComponent).join('/');

export function workerOrders(verbs: readonly Verb[], task: TaskView, cluster: string): Order[] {
  const [job, index] = splitTask(task.name);
  const path = (what: string) => at('clusters', cluster, 'tasks', job, index || '0', what);
  const { name, host } = task;
  return verbs.flatMap((verb): Order[] => {
    if (verb === 'cordon' && !task.cordoned)
      return [
        {
          title: `Cordon ${name}`,
          detail: host,
          question: `Cordon ${name}?`,
          says: 'Running closures will continue. The worker will stay connected but receive no new closures until it is uncordoned.',
          yes: 'Cordon',
          danger: false,
          path: path('cordon'),
          done: `${name} is cordoned.`,
        },
      ];
    if (verb === 'uncordon' && task.cordoned)
      return [
        {
          title: `Uncordon ${name}`,
          detail: host,
          question: `Uncordon ${name}?`,
          says: 'The worker will immediately receive new closures again.',
          yes: 'Uncordon',
          danger: false,
          path: path('uncordon'),
          done: `${name} is uncordoned.`,
        },
      ];
    if (verb === 'drain')
      return [
        {
          title: `Drain ${name}`,
          detail: host,
          question: `Drain ${name}?`,
          says: 'The worker will finish its running closures and receive no new closures. Then its process will exit.',
          yes: 'Drain',
          danger: true,
          path: path('drain'),
          done: `${name} is draining.`,
        },
      ];
    return [];
  });
}

export function jobOrders(verbs: readonly Verb[], job: Pick<JobView, 'id' | 'name' | 'state' | 'streaming' | 'counts'>): Order[] {
  const name = job.name || job.id;
  const what = job.streaming ? 'session' : 'job';
  return verbs.flatMap((verb): Order[] => {
    if (verb === 'cancel' && unfinished(job.state))
      return [
        {
          title: `Cancel ${name}`,
          detail: what,
          question: `Cancel ${name}?`,
          says: 'Running closures will be asked to stop, and waiting closures will never run. Results of succeeded closures will be kept.',
          yes: `Cancel the ${what}`,
          danger: true,
          path: at('jobs', job.id, 'cancel'),
          done: `${name} was cancelled.`,
        },
      ];
    if (verb === 'retry' && !unfinished(job.state) && !job.streaming && retryableOf(job.counts) > 0)
      return [
        {
          title: `Retry ${name}`,
          detail: what,
          question: `Retry the failed and cancelled closures of ${name}?`,
          says: 'A new job will run the failed and cancelled closures again, with the same arguments and options.',
          yes: 'Submit a new job',
          danger: false,
          path: at('jobs', job.id, 'retry'),
          done: 'A new job was submitted.',
          leads: 'job',
        },
      ];
    return [];
  });
}

export function programOrders(verbs: readonly Verb[], p: Pick<ProgramView, 'id' | 'name' | 'state'>): Order[] {
  if (p.state === 'SUCCEEDED' || p.state === 'FAILED' || p.state === 'CANCELLED') return [];
  return verbs.flatMap((verb): Order[] => {
    if (verb === 'cancel')
      return [
        {
          title: `Cancel ${p.name}`,
          detail: 'program',
          question: `Cancel ${p.name}?`,
          says: 'All ranks will be stopped, and the program will end as cancelled.',
          yes: 'Cancel the program',
          danger: true,
          path: at('programs', p.id, 'cancel'),
          done: `${p.name} was cancelled.`,
        },
      ];
    if (verb === 'restart' && p.state === 'RUNNING')
      return [
        {
          title: `Restart ${p.name}`,
          detail: 'program',
          question: `Restart ${p.name}?`,
          says: 'All ranks will be stopped and restarted as a new attempt.',
          yes: 'Restart',
          danger: false,
          path: at('programs', p.id, 'restart'),
          done: `${p.name} is restarting.`,
        },
      ];
    return [];
  });
}
