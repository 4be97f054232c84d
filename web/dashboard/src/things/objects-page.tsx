// Objects on tasks: which there are, in which state, who has them and what waits for them.

import { session } from '../access/session';
import { count } from '../model/format';
import type { ObjectView } from '../model/rest/views';
import type { Shape } from '../model/shape';
import { Action } from '../parts/action';
import { Fact } from '../parts/fact';
import { Grid, type Column } from '../parts/grid';
import { Choices, FilterField, Filters, Pages, useListing } from '../parts/listing';
import { Panel } from '../parts/panel';
import { Mark } from '../parts/shape';
import { Ago, Span } from '../parts/when';
import { clusterQuery, query, slow } from '../page';
import { api, send } from '../rest';
import { choose, chosen, follow, jobAddress, workerAddress } from '../route';

const LIMIT = 50;
const LOOKS: Record<string, readonly [shape: Shape, colour: string, word: string]> = {
  PENDING: ['late', 'text-late', 'Waits for its task'],
  STARTING: ['restarting', 'text-restarting', 'Being made'],
  READY: ['connected', '', 'Ready'],
  FAILED: ['error', 'text-error', 'Failed'],
  LOST: ['error', 'text-error', 'Lost'],
};
const STATES = [
  ['', 'all'],
  ['PENDING', 'waiting'],
  ['READY', 'ready'],
  ['FAILED', 'failed'],
  ['LOST', 'lost'],
] as const;

const isOver = (o: ObjectView): boolean => o.state === 'FAILED' || o.state === 'LOST';
// It is made, and its process is not connected.
const isAway = (o: ObjectView): boolean => o.state === 'READY' && !o.incarnation;

const lookOf = (o: ObjectView) => (isAway(o) ? (['late', 'text-late', 'Task is away'] as const) : (LOOKS[o.state] ?? (['waiting', '', o.state] as const)));

function State({ o }: { o: ObjectView }) {
  const [shape, colour, word] = lookOf(o);
  return (
    <span class={`chip ${colour}`} data-state={o.state}>
      <Mark shape={shape} /> {word}
    </span>
  );
}

const Task = ({ o }: { o: ObjectView }) => (
  <a class="mono" href={workerAddress(o.task)} onClick={follow} tabIndex={-1}>
    <bdi>{o.task}</bdi>
  </a>
);

const columns: readonly Column<ObjectView>[] = [
  { title: 'State', width: '152px', cell: (o) => <State o={o} /> },
  {
    title: 'Object',
    width: 'minmax(160px, 2fr)',
    cell: (o) => (
      <bdi class="mono" title={o.id}>
        {o.name ?? o.id}
      </bdi>
    ),
  },
  { title: 'Class', width: 'minmax(110px, 1fr)', narrow: 'hide', cell: (o) => <bdi class="mono">{o.class}</bdi> },
  { title: 'Task', width: 'minmax(80px, 0.7fr)', cell: (o) => <Task o={o} /> },
  { title: 'Calls waiting', width: '100px', right: true, cell: (o) => <span class={o.calls.waiting > 0 ? 'text-late' : 'soft'}>{count(o.calls.waiting)}</span> },
  { title: 'Executing', width: '84px', right: true, narrow: 'hide', cell: (o) => count(o.calls.executing) },
  { title: 'Answered', width: '90px', right: true, narrow: 'hide', cell: (o) => count(o.calls.answered) },
  { title: 'Since', width: '100px', right: true, narrow: 'hide', cell: (o) => <Ago ms={o.since_ms} /> },
  {
    title: 'Why',
    width: 'minmax(120px, 2fr)',
    narrow: 'long',
    says: (o) => o.error ?? '',
    cell: (o) => (
      <bdi class="text-error" title={o.error}>
        {o.error}
      </bdi>
    ),
  },
];

export function ObjectsPage() {
  slow.value;
  const text = query.value.trim();
  const [state, task, now] = [chosen('state').value, chosen('task').value, chosen('object').value];
  const filtered = !!(text || state || task);
  const looked = useListing<ObjectView>(api('objects', { cluster: clusterQuery.value, state, task, q: text }), LIMIT, { rows: (body: { objects: ObjectView[] }) => body.objects });
  const rows = looked.value?.rows ?? [];
  const one = rows.find((o) => o.id === now);
  return (
    <div class="panels tall listed">
      <Panel id="objects" title="Objects" note="newest first" span={12}>
        <Filters names={['q', 'state', 'task']} problem={looked.problem}>
          <Choices name="state" label="State" options={STATES} />
          <FilterField name="task" label="Task" />
        </Filters>
        <Grid
          id="objects"
          columns={columns}
          rows={rows}
          name={(o) => o.id}
          kind={(o) => (isOver(o) ? 'row-error' : '')}
          data={(o) => ({ 'data-object': o.id, 'data-state': o.state })}
          chosen={now || null}
          choose={(name) => choose({ object: name ?? '' }, 'replace')}
          old={looked.stale}
          least={880}
          empty={
            !looked.value ? (
              looked.problem ? (
                '–'
              ) : (
                'Loading…'
              )
            ) : filtered ? (
              'No object fits.'
            ) : (
              <>
                There is no object. Python makes one on a task: <code class="wrap">c.create(Weights, task="ps:0")</code>
              </>
            )
          }
        />
        <Pages looked={looked} what="objects" filtered={filtered} />
        {one && <One o={one} again={looked.again} />}
      </Panel>
    </div>
  );
}

function One({ o, again }: { o: ObjectView; again(): void }) {
  const name = o.name ?? o.id;
  const looksOnly = session.value?.required === true && session.value.role === 'viewer';
  return (
    <section class="rank-detail" aria-label={`Object ${name}`} data-testid="object" data-object={o.id}>
      <h3>
        <bdi>{name}</bdi>: {lookOf(o)[2].toLowerCase()}
      </h3>
      {o.error && (
        <p class="wrap text-error">
          <bdi>{o.error}</bdi>
        </p>
      )}
      <dl class="facts-line">
        <Fact name="id">
          <code>{o.id}</code>
        </Fact>
        <Fact name="class">
          <bdi class="mono">{o.class}</bdi>
        </Fact>
        <Fact name="task">
          <Task o={o} />
        </Fact>
        <Fact name="session">
          <a class="mono" href={jobAddress(o.session)} onClick={follow}>
            {o.session}
          </a>
          {o.detached && ', which it outlives'}
        </Fact>
        <Fact name="calls">
          {count(o.calls.waiting)} wait, {count(o.calls.executing)} of at most {count(o.concurrency)} are executed, {count(o.calls.answered)} are answered
        </Fact>
        <Fact name="in this state for">
          <Span from={o.since_ms} to={0} />
        </Fact>
        <Fact name="made">
          <Ago ms={o.created_ms} />
        </Fact>
        {o.submitted_by && (
          <Fact name="with token">
            <bdi>{o.submitted_by}</bdi>
          </Fact>
        )}
        {o.last_error && (
          <Fact name="last call that failed">
            <bdi class="text-error wrap">{o.last_error}</bdi>
          </Fact>
        )}
      </dl>
      <div class="actions">
        <Action
          testid="delete-object"
          label="Delete"
          title={`Delete ${name}?`}
          yes="Delete it"
          danger
          disabled={looksOnly}
          why={looksOnly ? 'Your token may look, and change nothing.' : undefined}
          run={async () => {
            await send('DELETE', api(`objects/${encodeURIComponent(o.id)}`, { cluster: clusterQuery.value }));
            again();
          }}
          done={`${name} was deleted.`}
        >
          <p>Its state is lost. Calls that are not answered fail, {count(o.calls.waiting + o.calls.executing)} just now, and so does each later one.</p>
        </Action>
      </div>
    </section>
  );
}
