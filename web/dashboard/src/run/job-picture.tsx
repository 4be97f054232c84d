import { useMemo } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import { executedOf, isOver } from '../shared/model/counts';
import { count, duration, plural, short } from '../shared/model/format';
import { pictureIn, pictureOf, ranOf, type Bin, type DurationsView, type Group, type Picture, type Ran } from './model/job-picture';
import type { ClosureView, JobView } from '../shared/model/views';
import { Bar } from '../shared/bar';
import { filter } from '../shared/listing';
import { Panel } from '../shared/panel';
import { functionName } from '../shared/model/closures';
import { Table } from '../shared/table';
import { api, get } from '../shared/rest';
import { chosen } from '../shared/route';
import { JobTimeline } from './job-timeline';

const PAGES = 3;
const LIMIT = 1000;
const SHOWN = 8;
const EVERY = 10_000; // polling interval in ms while the job is running

// Large jobs are read only in part.
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

// The visible range of the timeline, or null for the whole job.
function stretch(): { from: number; to: number } | null {
  const [from, to] = [Number(chosen('from').value), Number(chosen('to').value)];
  return from > 0 && from < to ? { from, to } : null;
}

export function JobPicture({ job }: { job: JobView }) {
  const { counts } = job;
  const ended = executedOf(counts);
  const path = `jobs/${encodeURIComponent(job.id)}`;
  const over = () => isOver(job);
  const all = useLooked<Ran[]>(ended > 0 ? api(`${path}/closures`) : '', { every: EVERY, over, read: firstOf }).value;
  const whole = useLooked<DurationsView>(ended > 0 ? api(`${path}/durations`) : '', { every: EVERY, over, keep: true });
  const range = stretch();
  const [from, to] = [range?.from ?? 0, range?.to ?? Infinity];
  const picture = useMemo<Picture | null>(() => {
    if (!range && whole.value && whole.value.executions > 0) return pictureIn(whole.value);
    const within = (all ?? []).filter((r) => r.from <= to && r.from + r.us / 1000 >= from);
    return (range ? within.length > 0 : within.length > 1) ? pictureOf(within) : null;
  }, [all, whole.value, from, to]);
  const listed = all !== null && (range !== null || !whole.value?.executions); // false if the server's statistics of all executions are used instead
  const part = !picture
    ? ''
    : !listed
      ? plural(picture.n, 'execution')
      : range
        ? `${plural(picture.n, 'closure')} in the range of the timeline`
        : all.length < ended
          ? `the first ${count(all.length)} of ${plural(ended, 'ended closure')}`
          : plural(picture.n, 'closure');
  return (
    <>
      {ended + counts.running > 0 && <JobTimeline job={job} all={all} />}
      {picture && picture.n > 1 && (
        <Durations picture={picture} part={part} left={listed && all.length < ended ? (range ? `closures of the first ${count(all.length)} that ran in this range` : part) : ''} />
      )}
    </>
  );
}

// `left` is the scope if the page shows only part of the job.
function Durations({ picture, part, left }: { picture: Picture; part: string; left: string }) {
  return (
    <Panel id="picture" title="Durations" note={part} span={12}>
      <p class="note" data-testid="durations" data-n={picture.n}>
        {picture.said.map(([word, us]) => `${word} ${duration(us)}`).join(' · ')}
      </p>
      <div class="job-picture">
        <Histogram of={picture.bins} part={part} />
        <By title="By function" name="function" rows={picture.functions} />
        <By title="By worker" name="worker" rows={picture.workers} />
      </div>
      {left && (
        <p class="foot" data-testid="picture-part">
          The histogram, figures and tables show {left}, in the order of submission; the list below shows all closures.
        </p>
      )}
    </Panel>
  );
}

const HEIGHT = 120; // height of the highest bar in CSS pixels
const LABELLED = 3; // every third bin has a label

// The axis is logarithmic. A label is the lower end of its bin; the last label is the upper end of the range.
function Histogram({ of, part }: { of: readonly Bin[]; part: string }) {
  const most = Math.max(...of.map(({ n }) => n));
  const range = ({ from, to }: Bin) => (from === 0 ? `up to ${duration(to)}` : `${duration(from)} to ${duration(to)}`);
  const high = (n: number) => `${n === 0 ? 0 : Math.max(2, Math.round((HEIGHT * n) / most))}px`;
  return (
    <figure
      class="histogram"
      data-testid="histogram"
      role="img"
      aria-label={`Durations of ${part}: ${of
        .filter(({ n }) => n > 0)
        .map((bin) => `${range(bin)}: ${count(bin.n)}`)
        .join('; ')}`}
    >
      {of.map((bin, n) => (
        <div key={bin.from} data-n={bin.n} title={`${range(bin)}: ${plural(bin.n, 'execution')}${bin.failed > 0 ? `, ${count(bin.failed)} failed` : ''}`}>
          <span class="histogram-n">{bin.n > 0 && short(bin.n)}</span>
          <i class="part-failed" style={{ height: high(bin.failed) }} />
          <i class="part-done" style={{ height: high(bin.n - bin.failed) }} />
          <span class="histogram-at">
            {n % LABELLED === 0 && (n === 0 ? of.length > 1 : n < of.length - 2) && <span>{bin.from === 0 ? '0' : duration(bin.from)}</span>}
            {n === of.length - 1 && <span class="is-end">{duration(bin.to)}</span>}
          </span>
        </div>
      ))}
    </figure>
  );
}

const HEADS = ['Ended', 'Failed', 'Median', 'Longest', 'Total'] as const;

function By({ title, name, rows }: { title: string; name: 'function' | 'worker'; rows: readonly Group[] }) {
  if (rows.length === 0) return null; // because the server drops the statistics of old jobs
  const most = rows[0]!.sum;
  const rest = rows.length - SHOWN;
  return (
    <div>
      <h3>{title}</h3>
      <Table heads={[<span class="unseen">{name}</span>, ...HEADS]} right={1} kind="by" testid={`by-${name}`}>
        {rows.slice(0, SHOWN).map((g) => (
          <tr key={g.name}>
            <td>
              <button type="button" class="plain mono clip" title={`Only ${g.name}`} disabled={!g.filter} onClick={() => filter({ [name]: g.filter })}>
                <bdi>{functionName(g.name) || '–'}</bdi>
              </button>
              <Bar parts={[{ kind: 'done', n: g.sum }]} total={Math.max(1, most)} />
            </td>
            {[count(g.n), g.failed > 0 ? <b class="text-error">{count(g.failed)}</b> : '0', duration(g.p50), duration(g.max), duration(g.sum)].map((cell, n) => (
              <td key={n} class="right" data-of={HEADS[n]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {rest > 0 && <p class="foot">and {count(rest)} more</p>}
    </div>
  );
}
