import { serverUrl } from '../shared/base';
import type { AgentView, HostPage, WorkerClosures, WorkerView } from 'muster-rest';
import { workerCommands, splitTask } from '../shared/model/commands';
import { hostOf } from '../shared/model/agents';
import { age, bytes, count, moment, plural } from '../shared/model/format';
import { isSlow, slownessText } from './model/fleet';
import { standing, uses } from './model/worker';
import { Action } from '../shared/action';
import { Bar } from '../shared/bar';
import { Commands } from '../shared/copy';
import { Fact, TextFact, TimeFact } from '../shared/fact';
import { Gone } from '../shared/gone';
import { LastHour } from './last-hour';
import { JobLink, Link } from '../shared/link';
import { Panel } from '../shared/panel';
import { TaskEvents } from './task-events';
import { Chip, SHAPES, WORDS } from '../shared/shape';
import { Table } from '../shared/table';
import { Since } from '../shared/when';
import { useHeading } from '../shell/heading';
import { useLooked } from '../shared/looked';
import { cluster, slow } from '../shared/page';
import { api, get, Gone as NotThere, send } from '../shared/rest';
import { address, closureAddress, follow, subject } from '../shared/route';
import { Machines } from '../run/machines-panel';
import { StacksPanel } from '../run/stacks-panel';

// A task can be both a worker and an agent; the worker takes precedence.
async function workerOrAgent(path: string): Promise<WorkerView | AgentView> {
  try {
    return await get<WorkerView>(`${path}?kind=worker`);
  } catch (error) {
    if (error instanceof NotThere) return get<AgentView>(path);
    throw error;
  }
}

export function WorkerPage() {
  slow.value;
  const task = subject.value;
  const of = cluster();
  const [job, index] = splitTask(task);
  const path = of ? `clusters/${encodeURIComponent(of.name)}/tasks/${encodeURIComponent(job)}/${encodeURIComponent(index || '0')}` : '';
  const looked = useLooked<WorkerView | AgentView>(path && api(path), { every: 1500, read: workerOrAgent });
  const it = looked.value;
  useHeading(task);
  return (
    <div class="panels">
      <Gone id="no-worker" what="task" looked={looked} to="/fleet" others="All workers" />
      {it?.kind === 'agent' && <AgentOnly task={task} agent={it} />}
      {it?.kind === 'worker' && (
        <>
          <Summary task={task} w={it} path={path} again={looked.again} />
          <Runs key={task} path={path} />
          <Resources w={it} />
          <LastHour key={`${task} hour`} path={path} slots={it.slots} />
          {of && <Machines key={`${task} machine`} cluster={of.name} task={task} />}
          <StacksPanel key={`${task} stacks`} path={path} />
          <TaskEvents task={task} main={!!of?.main} name={of?.name ?? ''} />
        </>
      )}
    </div>
  );
}

function AgentOnly({ task, agent }: { task: string; agent: AgentView }) {
  return (
    <Panel id="agent" title={task} span={12} note={agent.state.toLowerCase()}>
      <p class="calm">This task is an agent, not a closure worker.</p>
      {agent.error && (
        <p class="wrap text-error">
          <bdi>{agent.error.message}</bdi>
        </p>
      )}
      <p>
        <a href={address('/fleet', { q: task })} onClick={follow}>
          Show it in the list of agents of its cluster
        </a>
      </p>
    </Panel>
  );
}

function Summary({ task, w, path, again }: { task: string; w: WorkerView; path: string; again(): void }) {
  const of = cluster()!;
  const order = (what: string) => async () => {
    await send('POST', api(`${path}/${what}`));
    again();
  };
  const figures = useLooked<HostPage>(api('hosts', { cluster: of.name, task }), { every: 2000 });
  const row = figures.value?.hosts[0]?.workers[0];
  const here = w.state === 'CONNECTED' || w.state === 'LATE';
  const aside = (
    <div class="actions">
      {w.cordoned ? (
        <Action atOnce testid="uncordon" label="Uncordon" title={`Uncordon ${task}?`} yes="Uncordon" run={order('uncordon')} done={`${task} is uncordoned.`}>
          <p>The worker will immediately receive new closures again.</p>
        </Action>
      ) : (
        <Action atOnce testid="cordon" label="Cordon" title={`Cordon ${task}?`} yes="Cordon" run={order('cordon')} done={`${task} is cordoned.`}>
          <p>
            {w.running > 0 ? `${plural(w.running, 'running closure')} will finish` : 'The worker is idle'}; prefetched closures will move to other workers. The worker will stay connected but receive
            no new closures until it is uncordoned.
          </p>
        </Action>
      )}
      {here && !w.draining && (
        <Action testid="drain" label="Drain" title={`Drain ${task}?`} yes="Drain" danger run={order('drain')} done={`${task} is draining.`}>
          <p>The worker will finish its running closures and receive no new closures. Then its process will exit; to use the worker again, restart it.</p>
        </Action>
      )}
      <a class="button" href={address('/explore/stream', { tasks: task })} onClick={follow}>
        Task stream
      </a>
      <Commands lines={workerCommands(task, of.name, of.main, serverUrl())} />
    </div>
  );
  return (
    <Panel
      id="worker"
      title={task}
      note={
        <Chip shape={SHAPES[w.state]} data-testid="worker-state" data-state={w.state}>
          {WORDS[w.state]}
        </Chip>
      }
      span={12}
      aside={aside}
    >
      <ul class="standing" data-testid="standing">
        {row && isSlow(row) && (
          <li data-testid="slow">
            <b class="text-late">slow</b>: {slownessText(row)}
          </li>
        )}
        {standing(w).map(({ word, why, kind }) => (
          <li key={word}>
            <b class={`text-${kind}`}>{word}</b>: <bdi class="wrap">{why}</bdi>
          </li>
        ))}
      </ul>
      <dl class="facts-line">
        <TimeFact name="since" ms={w.since_ms} />
        <Fact name="last heartbeat">{w.last_seen_ms ? <span title={moment(w.last_seen_ms)}>{age(w.heartbeat_age_ms)} ago</span> : 'never'}</Fact>
        <Fact name="host">
          <bdi title={w.host}>{hostOf(w.host)}</bdi>
        </Fact>
        <Fact name="process">{w.pid || '–'}</Fact>
        <TextFact name="version" text={w.version || '–'} />
        <Fact name="incarnation">
          <code>{w.incarnation}</code>
        </Fact>
        <Fact name="ended since the server started" title="closures, including failures">
          {count(w.finished)}
        </Fact>
        <Fact name="of them failed">{w.failed > 0 ? <b class="text-error">{count(w.failed)}</b> : 0}</Fact>
        {row && <Fact name="failed executions, 1 h">{count(row.failed_last_hour)}</Fact>}
        {row?.value_bytes !== undefined && (
          <Fact name="values" title="bytes of the values in the memory of the worker">
            {bytes(row.value_bytes)}
          </Fact>
        )}
        <Fact name="restarts">{count(w.restarts)}</Fact>
        <Fact name="reconnects">{count(w.reconnects)}</Fact>
        {Object.entries(w.labels ?? {}).map(([name, value]) => (
          <TextFact key={name} name={`label ${name}`} text={value} kind="mono" />
        ))}
      </dl>
    </Panel>
  );
}

function Resources({ w }: { w: WorkerView }) {
  return (
    <Panel id="resources" title="Resources" note="used of total" span={4}>
      <ul class="uses" data-testid="resources">
        {uses(w).map(({ name, used, total }) => (
          <li key={name} class="meter">
            <bdi class="mono">{name}</bdi>
            <Bar parts={[{ kind: 'done', n: used }]} total={total} />
            <span>
              {count(used)} of {count(total)} <span class="soft">· {count(total - used)} free</span>
            </span>
          </li>
        ))}
      </ul>
      <h3>Functions</h3>
      <ul class="names" data-testid="functions">
        {w.functions.map((f) => (
          <li key={f}>
            <code>
              <bdi>{f}</bdi>
            </code>
          </li>
        ))}
        {w.functions.length === 0 && <li class="rest soft">none</li>}
      </ul>
    </Panel>
  );
}

function Runs({ path }: { path: string }) {
  const looked = useLooked<WorkerClosures>(api(`${path}/closures`), { every: 1000 });
  const held = looked.value;
  return (
    <Panel id="runs" title="Running closures" note={held && plural(held.running.length, 'closure')} span={8}>
      {looked.problem && <p class="calm soft">{looked.problem}</p>}
      {held && <Closures list={held.running} word="running for" none="Idle: no closure is running." testid="running" />}
      {held && held.sent_ahead.length > 0 && (
        <>
          <h3>Prefetched ({count(held.sent_ahead.length)}): next on this worker, or on another worker that is idle sooner</h3>
          <Closures list={held.sent_ahead} word="prefetched for" none="" testid="sent-ahead" />
        </>
      )}
      {!!held?.more && <p class="foot">and {count(held.more)} more</p>}
    </Panel>
  );
}

function Closures({ list, word, none, testid }: { list: WorkerClosures['running']; word: string; none: string; testid: string }) {
  if (list.length === 0) return <p class="calm">{none}</p>;
  return (
    <Table testid={testid}>
      {list.map((c) => (
        <tr key={c.id}>
          <td class="wrap">
            <Link to={closureAddress(c.id, c.job)}>
              <bdi>
                {c.function} #{count(c.index)}
              </bdi>
            </Link>
          </td>
          <td>{c.job && <JobLink id={c.job} />}</td>
          <td class="soft">
            {word} <Since ms={c.since_ms} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
