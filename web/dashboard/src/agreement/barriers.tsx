import { useBarrierMembers } from './barrier-members';
import { ClusterLines } from './clusters';
import { Passed } from './passed';
import { Waiting } from './waiting';
import { count } from '../shared/model/format';
import { cluster, query, slow, store } from '../shared/page';
import { Elsewhere } from '../shared/elsewhere';
import { Panel } from '../shared/panel';
import { chosen, picked } from '../shared/route';
import { Teach } from '../shared/teach';

const SHOWN = 50; // maximum number of running barriers

const nameOf = (b: { cluster: string; id: string; counter: number }): string => `${b.cluster}/${b.id}#${b.counter}`;

// Shows the barriers of all clusters, or of the cluster in the address.
export function Barriers() {
  slow.value;
  const of = cluster();
  const wanted = query.value.trim().toLowerCase();
  const all = store.barriers.all().filter((b) => (!picked.value || b.cluster === of?.name) && (!wanted || b.id.toLowerCase().includes(wanted)));
  const named = chosen('id').value; // the barrier that a link selects
  // The earliest deadline is the most urgent.
  const running = all.filter((b) => b.state === 'RUNNING').sort((a, b) => Number(b.id === named) - Number(a.id === named) || (a.deadline || Infinity) - (b.deadline || Infinity));
  const known = new Map(useBarrierMembers(running).map((b) => [nameOf(b), b]));
  const ended = all.filter((b) => b.state !== 'RUNNING').sort((a, b) => b.ended - a.ended);
  const several = !picked.value && new Set(all.map((b) => b.cluster)).size > 1;
  const total = picked.value ? (of?.barriers ?? 0) : store.clusters.all().reduce((sum, c) => sum + c.barriers, 0);
  return (
    <div class="panels agreement">
      <ClusterLines />
      <Panel
        id="running"
        title="Waiting now"
        note={running.length > 1 && 'shortest remaining time first'}
        span={12}
        aside={total > running.length && !wanted && <span class="note">{count(total)} in all</span>}
      >
        {running.slice(0, SHOWN).map((b, n) => (
          <Waiting key={nameOf(b)} barrier={b} known={known.get(nameOf(b))} several={several} open={b.id === named || (n === 0 && !named)} />
        ))}
        {running.length > SHOWN && <p class="foot">The first {count(SHOWN)} are shown; search for a name to find another barrier.</p>}
        {running.length === 0 && (
          <div class="calm">
            {wanted ? (
              `No running barrier has a name that contains “${query.value}”.`
            ) : (
              <>
                No task is waiting at a barrier.
                <Elsewhere what="Barriers" />
                {all.length === 0 && <Teach lines={LINES} />}
              </>
            )}
          </div>
        )}
      </Panel>
      <Passed rows={ended} several={several} />
    </div>
  );
}

const LINES = `import muster
with muster.Agent("HOST:PORT", task="worker:0") as agent:
    agent.barrier("checkpoint", timeout=60)`;
