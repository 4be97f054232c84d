// The shared components in all their states, on one page: `npm run gallery` shows it, and `npm run pictures` compares
// it. A new component or state belongs here.

import { useSignal } from '@preact/signals';
import { render, type ComponentChildren } from 'preact';
import { Action, Question } from '../src/shared/action';
import { Ansi } from '../src/shared/ansi';
import { Bar, partsOf } from '../src/shared/bar';
import { Commands, Copy } from '../src/shared/copy';
import { Fact, TextFact, TimeFact } from '../src/shared/fact';
import { Find } from '../src/shared/find';
import { Grid } from '../src/shared/grid';
import { JsonTree } from '../src/shared/json-tree';
import { JobLink, WorkerLink } from '../src/shared/link';
import { Problem } from '../src/shared/listing';
import { CLOSURE_SHAPES } from '../src/shared/model/closures';
import { PROGRAM_LOOKS, RANK_LOOKS } from '../src/shared/model/programs';
import { Panel } from '../src/shared/panel';
import { ProgramChip, RankChip } from '../src/shared/program-state';
import { Segments } from '../src/shared/segments';
import { Chip, SHAPES, WORDS } from '../src/shared/shape';
import { ClosureChip, DoingChip } from '../src/shared/state';
import { Table } from '../src/shared/table';
import { Teach } from '../src/shared/teach';
import { BarrierName, Clipped, More } from '../src/shared/text';
import { startTheme } from '../src/shared/theme';
import { Ago, Span } from '../src/shared/when';

const nothing = () => {};
const LONG = 'ValueError: could not convert string to float: "not a number, but a text that does not fit into one line of a list"';
const DOINGS = ['Stopping', 'Running', 'Queued', 'Waiting', 'Idle', 'Succeeded', 'Failed', 'Cancelled'] as const;

function Row({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <tr>
      <th scope="row">{title}</th>
      <td style={{ display: 'flex', flexWrap: 'wrap', gap: '4px 16px' }}>{children}</td>
    </tr>
  );
}

function States() {
  return (
    <Panel id="states" title="States" span={8}>
      <Table>
        <Row title="Tasks">
          {Object.entries(SHAPES).map(([state, shape]) => (
            <Chip key={state} shape={shape}>
              {WORDS[state as keyof typeof WORDS]}{' '}
            </Chip>
          ))}
        </Row>
        <Row title="Closures">
          {Object.keys(CLOSURE_SHAPES).map((state) => (
            <ClosureChip key={state} state={state as never} />
          ))}
        </Row>
        <Row title="Jobs">
          {DOINGS.map((is) => (
            <DoingChip key={is} is={is} />
          ))}
        </Row>
        <Row title="Programs">
          {Object.keys(PROGRAM_LOOKS).map((state) => (
            <ProgramChip key={state} state={state} />
          ))}
        </Row>
        <Row title="Ranks">
          {Object.keys(RANK_LOOKS).map((state) => (
            <RankChip key={state} state={state} />
          ))}
        </Row>
      </Table>
    </Panel>
  );
}

function Controls() {
  return (
    <Panel id="controls" title="Controls" span={4} note="a note" aside={<button type="button">Aside</button>}>
      <p>
        <button type="button">Button</button>{' '}
        <button type="button" class="primary">
          Main action
        </button>{' '}
        <button type="button" disabled>
          Disabled
        </button>{' '}
        <Copy text="muster jobs" what="muster jobs" />
      </p>
      <p>
        <Action label="Cancel job" title="Cancel this job?" yes="Cancel the job" danger run={async () => {}} testid="gallery-action">
          Its closures end as cancelled.
        </Action>{' '}
        <Action label="Retry" title="Retry?" yes="Retry" run={async () => {}} disabled why="Nothing failed." testid="gallery-disabled">
          –
        </Action>{' '}
        <Action label="Delete" title="Delete this job?" yes="Delete the job" danger run={() => Promise.reject(new Error('The job has not ended.'))} testid="gallery-refused">
          Its record is removed.
        </Action>
      </p>
      <Find words="Find a component" />
      <Segments
        label="State"
        options={[
          ['', 'All', '12'],
          ['FAILED', 'Failed', '2'],
          ['RUNNING', 'Running'],
        ]}
        now="FAILED"
        choose={nothing}
      />
      <ul class="plain-list">
        <More n={1234} show={nothing} />
      </ul>
    </Panel>
  );
}

function Progress() {
  const bars = [
    { succeeded: 0, running: 0, failed: 0, cancelled: 0 },
    { succeeded: 40, running: 10, failed: 0, cancelled: 0 },
    { succeeded: 70, running: 0, failed: 20, cancelled: 10 },
    { succeeded: 999_999, running: 0, failed: 1, cancelled: 0 },
  ];
  return (
    <Panel id="progress" title="Progress" span={4}>
      {bars.map((counts, n) => (
        <p key={n}>
          <Bar parts={partsOf(counts, n === 1 ? 50 : 0)} total={n === 3 ? 1_000_000 : 100} />
        </p>
      ))}
    </Panel>
  );
}

function Texts() {
  return (
    <Panel id="texts" title="Texts" span={8}>
      <dl class="facts">
        <Fact name="Fact">a value</Fact>
        <TextFact name="Code" text="muster.noop" kind="mono" />
        <Fact name="Barrier">
          <BarrierName id="step/1" counter={3} />
        </Fact>
      </dl>
      <pre class="wrap">
        <Ansi text={'\u001b[32mdone\u001b[0m, then \u001b[1;31mfailed\u001b[0m: exit status 1'} />
      </pre>
      <TextFact name="No text" text="" />
      <TimeFact name="No time" ms={0} />
      <JsonTree testid="gallery-tree" label="Value" value={{ list: [1, 2.5, null, true], text: 'a text', nested: { empty: {}, none: [] } }} />
    </Panel>
  );
}

// Names and texts come from users, so they can contain markup.
const MARKUP = '<img src=x onerror=alert(1)>';
function Names() {
  return (
    <Panel id="names" title="Names and times" span={8}>
      <p>
        <WorkerLink task="worker:3" of="" /> <JobLink id="job_0000000000000005" /> <Clipped text={MARKUP} /> <Ago ms={0} /> <Span from={0} to={0} /> <Span from={1000} to={3500} />
      </p>
      <Commands lines={[['Show this job', 'muster jobs show job_0000000000000005']]} />
      <Problem text={`no job is named ${MARKUP}`} />
      <Problem text="" />
      <Teach lines={'muster worker --server HOST:PORT\nmuster jobs --url URL'} />
      <JsonTree testid="gallery-large" label="Large value" value={Array.from({ length: 3000 }, (_, n) => ({ row: n }))} />
    </Panel>
  );
}

const ROWS = [
  { id: 'a', state: 'SUCCEEDED', text: '', size: '1.2 KB' },
  { id: 'b', state: 'FAILED', text: LONG, size: '–' },
  { id: 'c', state: 'RUNNING', text: 'epoch 3 of 10', size: '3.4 MB' },
];
const MANY = Array.from({ length: 5000 }, (_, n) => ({ id: `row ${n}`, state: 'SUCCEEDED', text: `row ${n}`, size: `${n} B` }));
function List({ id, title, rows, old = false }: { id: string; title: string; rows: typeof ROWS; old?: boolean }) {
  const chosen = useSignal<string | null>(rows[2]?.id ?? null);
  return (
    <Panel id={id} title={title} span={4}>
      <Grid
        id={id}
        rows={rows}
        old={old}
        name={(row) => row.id}
        kind={(row) => (row.state === 'FAILED' ? 'row-error' : '')}
        chosen={chosen.value}
        choose={(name) => (chosen.value = name)}
        columns={[
          { title: 'State', width: '96px', sort: 'state', cell: (row) => <ClosureChip state={row.state as never} /> },
          { title: 'Size', width: '64px', right: true, sort: 'size', cell: (row) => row.size },
          { title: 'Text', width: 'minmax(0, 1fr)', narrow: 'long', cell: (row) => row.text },
        ]}
        sorting={{ by: 'size', descending: true, sort: nothing }}
        empty={<p>No closures. Submit one with: muster submit muster.echo hello</p>}
      />
    </Panel>
  );
}

startTheme();
render(
  <>
    <nav class="rail" aria-label="Pages">
      <div class="rail-in">
        <div class="brand">
          <b>Muster</b>
        </div>
      </div>
    </nav>
    <main id="main">
      <h1>Components</h1>
      <div class="panels">
        <States />
        <Controls />
        <Progress />
        <Texts />
        <Names />
        <List id="list" title="List" rows={ROWS} />
        <List id="old" title="List that loads" rows={ROWS} old />
        <List id="empty" title="Empty list" rows={[]} />
        <List id="many" title="Long list" rows={MANY} />
      </div>
      {new URLSearchParams(location.search).has('question') && (
        <Question title="Cancel this job?" yes="Cancel the job" danger run={() => Promise.reject(new Error('The job has ended.'))} refusal="The job has ended." close={nothing}>
          Its closures end as cancelled.
        </Question>
      )}
    </main>
  </>,
  document.getElementById('app')!,
);
