import { foldEvents, type FoldedEvent } from './model/fold-events';
import { age, count, moment } from '../shared/model/format';
import { Grid, type Column } from '../shared/grid';
import { query, slow, store } from '../shared/page';
import { Linked } from '../shared/linked';
import { Panel } from '../shared/panel';
import type { EventRow } from '../shared/model/protocol';
import type { Shape } from '../shared/model/shape';
import { Segments } from '../shared/segments';
import { Chip } from '../shared/shape';
import { Clipped } from '../shared/text';
import { Clock } from '../shared/when';
import { choose, chosen } from '../shared/route';

type Severity = EventRow['severity'];
const SHAPES: Record<Severity, Shape> = { INFO: 'waiting', WARNING: 'late', ERROR: 'error' };
const WORDS: Record<Severity, string> = { INFO: 'info', WARNING: 'warn', ERROR: 'error' };
const COLOURS: Record<Severity, string> = { INFO: 'soft', WARNING: 'text-late', ERROR: 'text-error' };
const FILTERS = ['all', 'warnings', 'errors'] as const;

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
  { title: 'Cluster', width: 'minmax(70px, 0.7fr)', cell: (e) => <bdi class="soft">{e.cluster || '–'}</bdi> },
  { title: 'Event', width: 'minmax(110px, 1fr)', cell: (e) => e.kind.replaceAll('_', ' ') },
  {
    title: 'Subject',
    width: 'minmax(120px, 1.4fr)',
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

function fits(e: EventRow, filter: (typeof FILTERS)[number], wanted: string): boolean {
  if (filter === 'errors' && e.severity !== 'ERROR') return false;
  if (filter === 'warnings' && e.severity === 'INFO') return false;
  return !wanted || [e.kind, e.cluster, e.subject, e.text].some((text) => text.toLowerCase().includes(wanted));
}

export function Events() {
  slow.value;
  const severity = FILTERS.find((f) => f === chosen('severity').value) ?? 'all';
  const number = chosen('event').value;
  const wanted = query.value.trim().toLowerCase();
  const all = store.events.all();
  const rows = foldEvents(all.filter((e) => fits(e, severity, wanted)).sort((a, b) => b.number - a.number));
  const row = rows.find((e) => String(e.first) === number);
  const oldest = rows.at(-1)?.number ?? 1;
  const aside = <Segments label="Severity" options={FILTERS.map((f) => [f, f])} now={severity} testid="events" choose={(f) => choose({ severity: f === 'all' ? '' : f })} />;
  return (
    <div class="panels tall">
      <Panel id="events" title="Events" note={all.length > 0 && 'newest first, all clusters'} span={12} aside={aside}>
        <Grid
          id="events"
          columns={columns}
          rows={rows}
          name={(e) => String(e.first)}
          kind={(e) => (e.severity === 'ERROR' ? 'row-error' : '')}
          data={(e) => ({ 'data-kind': e.kind, 'data-severity': e.severity, 'data-times': String(e.times) })}
          chosen={number || null}
          choose={(name) => choose({ event: name ?? '' }, 'replace')}
          empty={all.length > 0 ? 'No event matches.' : 'No events yet.'}
        />
        {row ? (
          <div class="detail">
            <b>
              {row.kind.replaceAll('_', ' ')} <Linked text={row.subject} />
            </b>
            <span>
              number {count(row.number)}, {moment(row.time_ms)}
              {row.times > 1 && `; ${count(row.times)} times in ${age(row.time_ms - row.first_ms)}, since ${moment(row.first_ms)}`}
            </span>
            <span class="reason">
              <Linked text={row.text} />
            </span>
          </div>
        ) : (
          oldest > 1 && severity === 'all' && !wanted && <p class="foot">To see events before number {count(oldest)}, run muster events --after 0</p>
        )}
      </Panel>
    </div>
  );
}
