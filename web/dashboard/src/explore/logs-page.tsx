// The server reads log lines of closures from its disk, and requests log lines of ranks from their workers.

import { useLooked } from '../shared/looked';
import { clock, count, moment, plural, shortId } from '../shared/model/format';
import {
  isAsked,
  isId,
  LINES_MAX,
  looksInClosures,
  looksInPrograms,
  nothingFound,
  PROGRAMS_MAX,
  sizeOf,
  sourcesOf,
  type ClosureLine,
  type Found,
  type RankLine,
  type Source,
  type Wanted,
} from './model/log-search';
import { rankLabel, type ProgramView } from '../shared/model/programs';
import type { JobView } from '../shared/model/views';
import { clusterQuery, query, store } from '../shared/page';
import { Choices, FilterField, Filters, filters } from '../shared/listing';
import { ExploreBar, rangeClock, rangeNow } from './bar';
import { boundsOf } from './model/range';
import { Panel } from '../shared/panel';
import { api } from '../shared/rest';
import { address, closureAddress, follow, jobAddress, programAddress } from '../shared/route';
import { Line } from './line';
import { useSearch, type Search } from './search';

const WHERE = [
  ['', 'everywhere'],
  ['closures', 'closures'],
  ['programs', 'programs'],
] as const;
const CASES = [
  ['', 'any case'],
  ['exact', 'exact'],
] as const;
const NAMES = ['q', 'where', 'job', 'program', 'rank', 'attempt', 'case', 'since', 'from', 'to'] as const; // what "Clear filters" resets
const COLOURS: Record<string, string> = { stderr: 'text-late', warning: 'text-late', error: 'text-error', debug: 'soft', dropped: 'soft' };

function wantedNow(): Wanted {
  const { where, job, program, rank, attempt, case: exact } = filters(NAMES) as Record<(typeof NAMES)[number], string>;
  return {
    text: query.value.trim(),
    exact: exact === 'exact',
    where: where as Wanted['where'],
    cluster: clusterQuery.value,
    job,
    program,
    rank,
    attempt,
    ...boundsOf(rangeNow(), rangeClock()),
  };
}

function useNamed<Row extends { id: string; name: string }>(what: 'jobs' | 'programs', asked: boolean, name: string, limit: number): { rows: readonly Row[]; known: boolean } {
  const looked = useLooked<Record<string, Row[]>>(asked && !isId(name) ? api(what, { cluster: clusterQuery.value, q: name, limit }) : '', { over: () => true });
  if (isId(name)) return { rows: [{ id: name, name: '' } as Row], known: true };
  return { rows: looked.value?.[what] ?? [], known: !asked || looked.value !== null || looked.problem !== '' };
}

export function LogsPage() {
  const w = wantedNow();
  const asked = isAsked(w);
  const jobs = useNamed<JobView>('jobs', asked && w.job !== '' && looksInClosures(w), w.job, 4);
  const programs = useNamed<ProgramView>('programs', asked && looksInPrograms(w), w.program, PROGRAMS_MAX);
  const known = asked && jobs.known && programs.known;
  const sources = known ? sourcesOf(w, jobs.rows, programs.rows) : [];
  // A relative time range does not start a new search as time passes.
  const range = rangeNow();
  const search = useSearch(`${JSON.stringify({ ...w, from: range.last ? -range.last : w.from })} ${sources.map((s) => s.key).join()}`, sources);
  const left = sources.filter((s) => (search.found.get(s.key) ?? nothingFound).state !== 'done').length;
  const total = [...search.found.values()].reduce((n, f) => n + sizeOf(f), 0);
  return (
    <div class="panels tall">
      <ExploreBar />
      <Panel
        id="logs"
        title="Logs"
        note="lines of closures on the server's disk, and output of ranks"
        span={12}
        aside={
          asked && (
            <button type="button" data-testid="search-again" onClick={search.again}>
              Search again
            </button>
          )
        }
      >
        <Filters names={NAMES} problem="">
          <Choices name="where" label="Where" options={WHERE} />
          <Choices name="case" label="Case" options={CASES} />
          <FilterField name="job" label="Job" />
          <FilterField name="program" label="Program" />
          <FilterField name="rank" label="Rank" />
        </Filters>
        <Meant w={w} />
        <p class="note" role="status" data-testid="log-search-state" data-state={!asked ? 'empty' : !known || left > 0 ? 'reads' : 'done'}>
          {!asked
            ? 'Enter a search text or a time range above, or choose a job or a program.'
            : !known || left > 0
              ? `Searching… ${plural(total, 'line')} so far`
              : sources.length === 0
                ? 'There is nothing to search: no job or program matches.'
                : `${plural(total, 'line')} found`}
          {known && left === 0 && sources.length > 1 && ` in ${plural(sources.filter((s) => sizeOf(search.found.get(s.key) ?? nothingFound) > 0).length, 'place')} of ${count(sources.length)}`}
        </p>
        {sources.map((source) => (
          <Lines key={source.key} source={source} found={search.found.get(source.key) ?? nothingFound} w={w} search={search} />
        ))}
      </Panel>
    </div>
  );
}

function Meant({ w }: { w: Wanted }) {
  if (!isAsked(w) || looksInPrograms(w) || w.where === 'closures') return null;
  return (
    <p class="note" data-testid="log-search-meant">
      {w.job ? 'Programs are not searched, because the output of ranks does not belong to a job.' : 'Programs are not searched, because lines of ranks have no times.'}
    </p>
  );
}

function Lines({ source, found, w, search }: { source: Source; found: Found; w: Wanted; search: Search }) {
  const n = sizeOf(found);
  const full = n >= LINES_MAX;
  if (n === 0 && found.state === 'done' && !found.problem && !found.next && found.unread.length === 0) return null;
  return (
    <section class="found" aria-label={source.title} data-testid="log-source" data-source={source.key} data-state={found.state}>
      <h3>
        {source.program ? (
          <a href={programAddress(source.program)} onClick={follow}>
            <bdi>{source.title}</bdi>
          </a>
        ) : (
          <bdi>{source.title}</bdi>
        )}{' '}
        <span class="note">{found.state === 'waits' ? 'waiting' : found.state === 'reads' ? 'searching…' : found.problem ? '' : `${plural(n, 'line')}${found.next ? ' so far' : ''}`}</span>
      </h3>
      {found.problem && (
        <p class="calm text-error">
          <bdi>{found.problem}</bdi>
        </p>
      )}
      {n > 0 && (
        <div class="log mono found-lines" tabIndex={0} role="region" aria-label={`Lines of ${source.title}`}>
          {found.lines.map((line, at) => (
            <OfClosure key={at} line={line} w={w} />
          ))}
          {found.ranks.map((line, at) => (
            <OfRank key={at} line={line} program={source.program} w={w} />
          ))}
        </div>
      )}
      {found.unread.length > 0 && (
        <details>
          <summary>{plural(found.unread.length, 'rank')} could not be read</summary>
          <ul>
            {found.unread.map((text) => (
              <li key={text} class="wrap">
                <bdi>{text}</bdi>
              </li>
            ))}
          </ul>
        </details>
      )}
      {found.state === 'done' && found.next && (
        <p class="foot">
          {full ? (
            `The first ${count(n)} are shown; narrow the search.`
          ) : (
            <button type="button" data-testid="look-on" onClick={() => search.on(source)}>
              Search more
            </button>
          )}
        </p>
      )}
    </section>
  );
}

const AROUND_MS = 5000;

function OfClosure({ line, w }: { line: ClosureLine; w: Wanted }) {
  const around = address('/explore', { where: 'closures', job: line.job, from: String(line.time_ms - AROUND_MS), to: String(line.time_ms + AROUND_MS) });
  const to = closureAddress(line.closure, line.job);
  return (
    <div class={`log-line ${COLOURS[line.level] ?? ''}`} data-testid="found-line" data-closure={line.closure}>
      <a class="found-time" href={around} onClick={follow} title={`${moment(line.time_ms)}: show the lines of its job within 5 s`}>
        {clock(line.time_ms)}
      </a>
      <a
        class="found-who clip"
        href={`${to}${to.includes('?') ? '&' : '?'}log=${encodeURIComponent(w.text)}`}
        onClick={follow}
        title={`closure ${line.closure}, attempt ${line.attempt} on ${line.worker}`}
      >
        <bdi>
          #{line.index} {line.worker}
        </bdi>
      </a>
      {!w.job && (
        <a class="found-job" href={jobAddress(line.job)} onClick={follow} title={line.job}>
          {store.jobName(line.job) || shortId(line.job)}
        </a>
      )}
      <Line text={line.text} wanted={w.text} exact={w.exact} />
    </div>
  );
}

function OfRank({ line, program, w }: { line: RankLine; program: string; w: Wanted }) {
  const to = programAddress(program);
  const at = new URLSearchParams({ rank: String(line.rank), attempt: String(line.attempt), line: String(line.offset), find: w.text });
  return (
    <div class="log-line" data-testid="found-line" data-rank={line.rank}>
      <a class="found-who clip" href={`${to}${to.includes('?') ? '&' : '?'}${at}`} onClick={follow} title={`${rankLabel(line)}, attempt ${line.attempt}, at byte ${count(line.offset)}`}>
        <bdi>{rankLabel(line)}</bdi>
      </a>
      <Line text={line.text} wanted={w.text} exact={w.exact} />
    </div>
  );
}
