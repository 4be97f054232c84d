// How long the closures of a job took: a histogram, and who took the time, by function and worker.

import { useMemo } from 'preact/hooks';
import { useLooked } from '../looked';
import { age, count, plural } from '../model/format';
import { bins, groups, percentile, ranOf, type Bin, type Group, type Ran } from '../model/job-picture';
import { ENDED, type ClosureView, type JobView } from '../model/rest/views';
import { Bar } from '../parts/bar';
import { filter } from '../parts/listing';
import { Panel } from '../parts/panel';
import { api, get } from '../rest';
import { JobTimeline } from './job-timeline';

const PAGES = 3; // that are looked at, of
const LIMIT = 1000; // closures
const SHOWN = 8; // functions, and workers
const EVERY = 10_000; // ms, while it runs

// The first closures of the job; of a large one not all, and the panel says so.
async function firstOf(path: string): Promise<Ran[]> {
  const all: Ran[] = [];
  let token = '';
  for (let page = 0; page < PAGES; ++page) {
    const body = await get<{ closures: ClosureView[]; next_page_token?: string }>(`${path}?limit=${LIMIT}${token && `&page_token=${encodeURIComponent(token)}`}`);
    all.push(...ranOf(body.closures));
    token = body.next_page_token ?? '';
    if (!token) break;
  }
  return all;
}

const took = (ms: number): string => (ms < 1 ? '< 1 ms' : age(ms));

export function JobPicture({ job }: { job: JobView }) {
  const { counts } = job;
  const ended = counts.succeeded + counts.failed;
  const looked = useLooked<Ran[]>(ended > 0 ? api(`jobs/${encodeURIComponent(job.id)}/closures`) : '', { every: EVERY, over: () => ENDED.includes(job.state), read: firstOf });
  const all = looked.value;
  const shown = useMemo<Shown | null>(() => (all && all.length > 1 ? { bins: bins(all), functions: groups(all, 'function'), workers: groups(all, 'worker') } : null), [all]);
  return (
    <>
      {ended + counts.running > 0 && <JobTimeline job={job} all={all} />}
      {all && shown && <Durations all={all} shown={shown} ended={ended} />}
    </>
  );
}

interface Shown {
  bins: Bin[];
  functions: Group[];
  workers: Group[];
}

function Durations({ all, shown, ended }: { all: readonly Ran[]; shown: Shown; ended: number }) {
  const sorted = all.map(({ ms }) => ms).sort((a, b) => a - b);
  const said = ([['median', 0.5], ['90% took at most', 0.9], ['99% at most', 0.99], ['the longest', 1]] as const).map(([word, p]) => `${word} ${took(percentile(sorted, p))}`);
  const part = all.length < ended ? `the first ${count(all.length)} of ${plural(ended, 'ended closure')}` : plural(all.length, 'closure');
  return (
    <Panel id="picture" title="How long they ran" note={part} span={12}>
      <p class="note" data-testid="durations">
        {said.join(' · ')}
      </p>
      <div class="job-picture">
        <Histogram of={shown.bins} part={part} />
        <By title="By function" name="function" rows={shown.functions} />
        <By title="By worker" name="worker" rows={shown.workers} />
      </div>
      {all.length < ended && (
        <p class="foot" data-testid="picture-part">
          Histogram, figures and tables are of {part}, in the order in which they were submitted; the list below has all.
        </p>
      )}
    </Panel>
  );
}

const HEIGHT = 120; // CSS pixels of the highest bar

function Histogram({ of, part }: { of: readonly Bin[]; part: string }) {
  const most = Math.max(...of.map(({ n }) => n));
  const range = ({ from, to }: Bin) => (from === 0 ? 'less than 1 ms' : `${age(from)} to ${age(to)}`);
  const high = (n: number) => `${n === 0 ? 0 : Math.max(2, Math.round((HEIGHT * n) / most))}px`;
  return (
    <figure class="histogram" data-testid="histogram" role="img" aria-label={`Durations of ${part}: ${of.filter(({ n }) => n > 0).map((bin) => `${range(bin)}: ${count(bin.n)}`).join('; ')}`}>
      {of.map((bin) => (
        <div key={bin.from} title={`${range(bin)}: ${plural(bin.n, 'closure')}${bin.failed > 0 ? `, ${count(bin.failed)} failed` : ''}`}>
          <span class="histogram-n">{bin.n > 0 && count(bin.n)}</span>
          <i class="part-failed" style={{ height: high(bin.failed) }} />
          <i class="part-done" style={{ height: high(bin.n - bin.failed) }} />
          <span class="histogram-at">{bin.from === 0 ? '0' : age(bin.from)}</span>
        </div>
      ))}
    </figure>
  );
}

const HEADS = ['Closures', 'Failed', 'Median', '99%', 'Total'] as const;

// A click shows the closures of one below.
function By({ title, name, rows }: { title: string; name: 'function' | 'worker'; rows: readonly Group[] }) {
  const most = rows[0]?.sum ?? 0;
  const rest = rows.length - SHOWN;
  return (
    <div>
      <h3>{title}</h3>
      <table class="table by" data-testid={`by-${name}`}>
        <thead>
          <tr>
            {['', ...HEADS].map((word) => (
              <th key={word} scope="col" class={word && 'right'}>
                {word || <span class="unseen">{name}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map((g) => (
            <tr key={g.name}>
              <td>
                <button type="button" class="plain mono clip" title={`Only ${g.name}`} onClick={() => filter({ [name]: g.filter })}>
                  <bdi>{g.name || '–'}</bdi>
                </button>
                <Bar parts={[{ kind: 'done', n: g.sum }]} total={Math.max(1, most)} />
              </td>
              {[count(g.n), g.failed > 0 ? <b class="text-error">{count(g.failed)}</b> : '0', took(g.p50), took(g.p99), took(g.sum)].map((cell, n) => (
                <td key={n} class="right" data-of={HEADS[n]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && <p class="foot">and {count(rest)} more</p>}
    </div>
  );
}
