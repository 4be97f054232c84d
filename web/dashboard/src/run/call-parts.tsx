// What is known of one call, for its page and for the inspector of a run.

import { serverUrl } from '../shared/base';
import { closureCommands } from '../shared/model/commands';
import { failureLine, hasEnded, ran, waited, whereOf } from '../shared/model/closures';
import { isOver } from '../shared/model/counts';
import { count, pairs, percent, plural } from '../shared/model/format';
import { plain } from '../shared/model/plain';
import type { ClosureView, Failure } from '../shared/model/views';
import { Action } from '../shared/action';
import { Ansi } from '../shared/ansi';
import { Bar } from '../shared/bar';
import { Commands, Copy } from '../shared/copy';
import { Fact, TextFact, TimeFact } from '../shared/fact';
import { JobLink, WorkerLink } from '../shared/link';
import { Linked } from '../shared/linked';
import { InStream } from '../explore/in-stream';
import { LogPanel } from '../shared/log-panel';
import { Panel } from '../shared/panel';
import { Table } from '../shared/table';
import { ValuePanel } from '../shared/value-panel';
import { Ago, Span } from '../shared/when';
import { Given, given } from './given-panel';
import { MachineNow } from './machine-now';
import { StacksPanel } from './stacks-panel';
import { useLooked, type Looked } from '../shared/looked';
import { api, get, Gone as NotThere, send } from '../shared/rest';

// A finished closure is found only through its session. Links with a wrong job still work.
async function hinted<T>(path: string, job: string): Promise<T> {
  if (!job) return get<T>(path);
  try {
    return await get<T>(`${path}?${new URLSearchParams({ job })}`);
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
    return get<T>(path);
  }
}

export interface Call {
  looked: Looked<ClosureView>;
  why: string;
  again(): void;
}

export function useCall(id: string, job: string): Call {
  const path = `closures/${encodeURIComponent(id)}`;
  const looked = useLooked<ClosureView>(id && api(path), { every: 1000, over: isOver, read: (from) => hinted(from, job) });
  const why = useLooked<{ state: string; explanation: string }>(id && api(`${path}/explain`), { every: 2000, over: isOver, read: (from) => hinted(from, job) });
  const again = () => {
    looked.again();
    why.again();
  };
  return { looked, why: why.value?.explanation ?? '', again };
}

export function CallActions({ c, again }: { c: ClosureView; again(): void }) {
  return (
    <div class="actions">
      {!hasEnded(c) && (
        <Action
          testid="cancel-closure"
          label="Cancel closure"
          title="Cancel this closure?"
          yes="Cancel the closure"
          danger
          disabled={c.cancel_requested}
          run={async () => {
            await send('POST', api(`closures/${encodeURIComponent(c.id)}/cancel`));
            again();
          }}
          done="The closure was cancelled."
        >
          <p>{c.state === 'RUNNING' ? 'It will be asked to stop, and its work so far will be lost.' : 'It will never run.'} Closures that need its value will fail.</p>
        </Action>
      )}
      <Commands lines={closureCommands(c, serverUrl())} />
    </div>
  );
}

export function CallFacts({ c, why }: { c: ClosureView; why: string }) {
  const tasks = [...c.attempts.map((a) => a.worker), c.sent_to ?? '', c.task ?? ''];
  return (
    <div data-testid="closure" data-closure={c.id} data-state={c.state}>
      {why && !c.error && (
        <p class="why" data-testid="why">
          <Linked text={plain(why)} tasks={tasks} job={c.job} />
        </p>
      )}
      {c.progress && (
        <div class="progress">
          <Bar parts={[{ kind: 'done', n: c.progress.fraction }]} total={1} />
          <p class="progress-foot">
            <span data-testid="closure-progress">{percent(c.progress.fraction, 1)}</span>
            <bdi>{c.progress.text}</bdi>
          </p>
        </div>
      )}
      {c.history && <p class="foot">The session stores only this summary, without arguments and value.</p>}
      <dl class="facts-line">
        {c.display_name && <TextFact name="function" text={c.function} kind="mono" />}
        {c.callable && (
          <Fact name="callable">
            <span class="mono" title={c.callable}>
              {c.callable.slice(0, 12)}
            </span>
          </Fact>
        )}
        <Fact name="job">
          <JobLink id={c.job} />
        </Fact>
        <Fact name="id">
          <code>{c.id}</code>
        </Fact>
        <TimeFact name="submitted" ms={c.created_ms} />
        <Fact name="waited">
          <Span {...waited(c)} />
        </Fact>
        <Fact name="ran">
          <Span {...ran(c)} />
        </Fact>
        <TimeFact name="ended" ms={c.finished_ms} />
        {c.sent_to && (
          <Fact name="prefetched to">
            <WorkerLink task={c.sent_to} />
          </Fact>
        )}
        {c.alone && <Fact name="runs">alone on its worker, because it has lost several workers</Fact>}
        {c.priority !== undefined && <Fact name="priority">{count(c.priority)}</Fact>}
        {c.max_retries !== undefined && (
          <Fact name="retries">
            {count(c.retries ?? 0)} of {count(c.max_retries)}
          </Fact>
        )}
        {!hasEnded(c) && <TimeFact name="starts" ms={c.start_ms} />}
        <TimeFact name="deadline" ms={c.deadline_ms} />
        {c.task && <Fact name="only on">{c.task.includes(':') ? <WorkerLink task={c.task} /> : <bdi class="mono">{c.task}</bdi>}</Fact>}
        <TextFact name="gang" text={c.gang} kind="mono" />
        <TextFact name="labels" text={pairs(c.labels)} kind="mono wrap" />
        <TextFact name="resources" text={pairs(c.resources)} kind="mono wrap" />
      </dl>
    </div>
  );
}

// The sections below the facts. The inspector shows them in a narrow column.
export function CallParts({ c, beside = false }: { c: ClosureView; beside?: boolean }) {
  const ended = c.attempts.at(-1)?.ended_ms ?? 0;
  return (
    <>
      {c.error && <Wrong error={c.error} />}
      <Given c={c} />
      {!c.history && <ValuePanel key={c.id} c={c} wide={!given(c)} />}
      <Attempts c={c} />
      <LogPanel key={c.id} id={c.id} note="of this closure" panel={beside ? 'call-log' : 'log'} />
      {c.state === 'RUNNING' && <StacksPanel key={`${c.id} stacks`} path={`closures/${encodeURIComponent(c.id)}`} />}
      {whereOf(c) && <MachineNow key={`${c.id} machine`} task={whereOf(c)} at={ended} />}
    </>
  );
}

// An error of the kind USER was raised by the called function.
const errorKind = ({ kind }: Failure): string => (kind === 'USER' ? 'in your code' : kind.toLowerCase().replaceAll('_', ' '));

function Wrong({ error }: { error: Failure }) {
  const whole = error.traceback || error.message;
  return (
    <Panel id="error" title="Error" note={<span class="text-error">{errorKind(error)}</span>} span={12} aside={<Copy text={whole} what="the whole error" />}>
      <p class="why text-error" data-testid="error-line">
        <bdi class="wrap">
          <Ansi text={failureLine(error)} />
        </bdi>
      </p>
      {error.worker && (
        <p class="foot">
          on <WorkerLink task={error.worker} />
          {error.attempt ? `, attempt ${error.attempt}` : ''}
        </p>
      )}
      {(error.traceback || error.message.includes('\n')) && (
        <pre class="value" tabIndex={0} role="region" data-testid="traceback" aria-label="Traceback">
          <Ansi text={whole} />
        </pre>
      )}
      {!!error.dependencies?.length && (
        <p class="foot">
          Because of <Linked text={error.dependencies.join(', ')} />
        </p>
      )}
    </Panel>
  );
}

function Attempts({ c }: { c: ClosureView }) {
  return (
    <Panel id="attempts" title="Attempts" note={c.attempts.length > 1 && plural(c.attempts.length, 'attempt')} span={12}>
      {c.attempts.length === 0 ? (
        <p class="calm">The closure has not run yet.</p>
      ) : (
        <Table heads={['#', 'Worker', 'Started', 'Ran', 'Outcome']} testid="attempts">
          {c.attempts.map((a) => (
            <tr key={a.attempt}>
              <td>{a.attempt}</td>
              <td class="wrap">
                <WorkerLink task={a.worker} /> <bdi class="soft">{a.host && `(${a.host})`}</bdi>
              </td>
              <td>
                <Ago ms={a.started_ms} />
              </td>
              <td>
                <Span from={a.started_ms} to={a.ended_ms || (hasEnded(c) ? c.finished_ms : 0)} us={a.took_us} />
              </td>
              <td class="wrap">
                <bdi>{a.outcome || (a.ended_ms ? '' : 'runs')}</bdi> <InStream attempt={a} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
