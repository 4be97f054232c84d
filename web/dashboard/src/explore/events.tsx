import { foldEvents, type FoldedEvent } from './model/fold-events';
import { fits, kindsOf, SEVERITIES } from './model/event-filter';
import { isAll } from './model/range';
import { ExploreBar, rangeClock, rangeNow } from './bar';
import { EventChart } from './event-chart';
import { usePastEvents } from './past-events';
import { askedRange } from './asked';
import { age, count, moment, plural } from '../shared/model/format';
import { Grid, type Column } from '../shared/grid';
import { query, slow, store } from '../shared/page';
import { Problem } from '../shared/listing';
import { Linked } from '../shared/linked';
import { Panel } from '../shared/panel';
import type { EventRow } from '../shared/model/protocol';
import type { Shape } from '../shared/model/shape';
import { Segments } from '../shared/segments';
import { Chip } from '../shared/shape';
import { Clipped } from '../shared/text';
import { Clock } from '../shared/when';
import { choose, chosen } from '../shared/route';
import { Teach } from '../shared/teach';

type Severity = EventRow['severity'];
const SHAPES: Record<Severity, Shape> = { INFO: 'waiting', WARNING: 'late', ERROR: 'error' };
const WORDS: Record<Severity, string> = { INFO: 'info', WARNING: 'warn', ERROR: 'error' };
const COLOURS: Record<Severity, string> = { INFO: 'soft', WARNING: 'text-late', ERROR: 'text-error' };

const columns: readonly Column<FoldedEvent>[] = [
  {
    title: 'Time',
    width: '70px',
    cell: (e) => <Clock ms={e.time_ms} />,
  },
  {
    title: 'Severity',
    width: '76px',
    cell: (e) => (
      <Chip shape={SHAPES[e.severity]} colour={COLOURS[e.severity]}>
        {WORDS[e.severity]}
      </Chip>
    ),
  },
  { title: 'Cluster', width: 'minmax(70px, 130px)', cell: (e) => <bdi class="soft">{e.cluster || '–'}</bdi> },
  { title: 'Event', width: 'minmax(110px, 180px)', cell: (e) => e.kind.replaceAll('_', ' ') },
  {
    title: 'Subject',
    width: 'minmax(120px, 230px)',
    cell: (e) => <Clipped text={e.subject} kind="mono" />,
  },
  { title: 'Text', width: 'minmax(200px, 4fr)', cell: (e) => <Text event={e} /> },
];

function Text({ event: e }: { event: FoldedEvent }) {
  return (
    <bdi title={e.text}>
      {e.times > 1 && (
        <b class="times" data-testid="times" title={`since ${moment(e.first_ms)}`}>
          ×{count(e.times)}
        </b>
      )}
      {e.text}
    </bdi>
  );
}

export function Events() {
  slow.value;
  const severity = SEVERITIES.find((f) => f === chosen('severity').value) ?? 'all';
  const kind = chosen('kind').value;
  const number = chosen('event').value;
  const range = rangeNow();
  const live = store.events.all();
  const byRest = kind !== '' || !isAll(range);
  const past = usePastEvents(byRest ? { ...askedRange(), kind, ...(severity === 'errors' && { severity: 'ERROR' }) } : null, live);
  const now = rangeClock();
  const found = past.events.filter((e) => fits(e, { severity, kind, text: query.value.trim().toLowerCase(), range, now }));
  const rows = foldEvents(found);
  const row = rows.find((e) => nameOf(e) === number);
  const aside = <Segments label="Severity" options={SEVERITIES.map((f) => [f, f])} now={severity} testid="events" choose={(f) => choose({ severity: f === 'all' ? '' : f })} />;
  const empty = byRest && !past.known ? 'Loading…' : past.events.length > 0 || byRest ? 'No event matches.' : <NoEvents />;
  return (
    <div class="panels tall">
      <ExploreBar>
        <Kind kinds={kindsOf(past.events, kind)} now={kind} />
      </ExploreBar>
      <Panel id="events" title="Events" note={rows.length > 0 && `newest first, all clusters · ${plural(found.length, 'event')}`} span={12} aside={aside}>
        <Problem text={past.problem} />
        <EventChart events={found} range={range} />
        <Grid
          id="events"
          columns={columns}
          rows={rows}
          name={nameOf}
          kind={(e) => (e.severity === 'ERROR' ? 'row-error' : '')}
          data={(e) => ({ 'data-kind': e.kind, 'data-severity': e.severity, 'data-times': String(e.times) })}
          chosen={number || null}
          choose={(name) => choose({ event: name ?? '' }, 'replace')}
          empty={empty}
        />
        {row && <Detail row={row} />}
        {past.more && <p class="foot">The range has more than {count(past.events.length)} events, and only the oldest of them are shown; choose a shorter range.</p>}
        {!byRest && store.events.more > 0 && (
          <p class="foot">
            Only the newest events are shown.{' '}
            <button type="button" class="plain" data-testid="events-day" onClick={() => choose({ from: '24h', to: '' })}>
              Show the last 24 hours
            </button>
          </p>
        )}
      </Panel>
    </div>
  );
}

const nameOf = (e: FoldedEvent): string => (e.first > 0 ? String(e.first) : `${e.first_ms}/${e.kind}/${e.subject}`);

function Kind({ kinds, now }: { kinds: readonly string[]; now: string }) {
  return (
    <label class="field">
      <span>Kind</span>
      <select data-testid="event-kind" value={now} onChange={(event) => choose({ kind: event.currentTarget.value })}>
        <option value="">all</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {kind.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
}

function Detail({ row }: { row: FoldedEvent }) {
  return (
    <div class="detail">
      <b>
        {row.kind.replaceAll('_', ' ')} <Linked text={row.subject} />
      </b>
      <span>
        {row.number > 0 && `number ${count(row.number)}, `}
        {moment(row.time_ms)}
        {row.times > 1 && `; ${count(row.times)} times in ${age(row.time_ms - row.first_ms)}, since ${moment(row.first_ms)}`}
      </span>
      <span class="reason">
        <Linked text={row.text} />
      </span>
    </div>
  );
}

function NoEvents() {
  return (
    <>
      No events yet. An event is recorded when a task connects or fails, a barrier fails, or a worker is cordoned:
      <Teach lines={'muster worker --server HOST:PORT\nmuster cordon worker:0 --url URL\nmuster events --follow --url URL'} />
    </>
  );
}
