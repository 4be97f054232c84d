import { agentName, hostOf, plight, PLIGHT_SHAPES, PLIGHT_WORDS, remark } from '../shared/model/agents';
import { age, plural } from '../shared/model/format';
import type { AgentRow } from '../shared/model/protocol';
import { store, viewNow } from '../shared/page';
import { Chip, SHAPES, WORDS } from '../shared/shape';

export function WorkerFacts({ id }: { id: number }) {
  const task = store.tasks.view(id)!;
  const heartbeat = store.tasks.heartbeatAge(store.tasks.slot(id)!, viewNow());
  return (
    <>
      <b class="mono">
        <bdi>{task.name}</bdi>
      </b>
      <Chip shape={SHAPES[task.state]}>
        {WORDS[task.state]} for {age(viewNow() - task.since)}
      </Chip>
      <span>
        <bdi>{task.host}</bdi> · heartbeat {heartbeat.exact ? '' : '< '}
        {age(heartbeat.ms)} · {task.running}/{task.slots} slots
      </span>
      {task.error && (
        <span class="text-error tip-error">
          <bdi>{task.error}</bdi>
        </span>
      )}
    </>
  );
}

// Shows the devices that the agent declared when it registered.
export function AgentFacts({ agent }: { agent: AgentRow }) {
  const state = plight(agent);
  const said = remark(agent);
  return (
    <>
      <b class="mono">
        <bdi>{agentName(agent)}</bdi> <span class="soft">{agent.cluster}</span>
      </b>
      <Chip shape={PLIGHT_SHAPES[state]}>{PLIGHT_WORDS[state]}</Chip>
      <span>
        <bdi>{hostOf(agent.address) || 'no address yet'}</bdi>
        {agent.seen > 0 && ` · heartbeat ${age(viewNow() - agent.seen)}`}
      </span>
      {agent.devices > 0 && (
        <span>
          {plural(agent.devices, 'device')}
          {agent.device_names && agent.device_names.length > 0 && `: ${agent.device_names.slice(0, 2).join(', ')}`}
        </span>
      )}
      {said && (
        <span class={`tip-error ${state === 'victim' ? 'text-error' : 'soft'}`}>
          <bdi>{said}</bdi>
        </span>
      )}
    </>
  );
}
