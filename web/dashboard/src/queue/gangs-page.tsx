// Lists closures that might wait forever.

import { count, plural } from '../shared/model/format';
import { needsText, type Gang, type Demand } from './model/demand';
import { ClosureLink, JobLink, Link } from '../shared/link';
import { Linked } from '../shared/linked';
import { Problem } from '../shared/listing';
import { Panel } from '../shared/panel';
import { Ago } from '../shared/when';
import { useLooked } from '../shared/looked';
import { clusterQuery, slow } from '../shared/page';
import { api } from '../shared/rest';
import { closureAddress } from '../shared/route';

export function GangsPage() {
  slow.value;
  return (
    <div class="panels">
      <Gangs />
      <UnmetDemand />
    </div>
  );
}

function Gangs() {
  const looked = useLooked<{ gangs: Gang[]; more?: number }>(api('gangs', { cluster: clusterQuery.value }));
  const gangs = looked.value?.gangs ?? [];
  return (
    <Panel id="gangs" title="Waiting gangs" note="closures that start together or not at all" span={12} aside={gangs.length > 0 && <span class="note">{plural(gangs.length, 'gang')}</span>}>
      <Problem text={looked.problem} />
      {looked.value && gangs.length === 0 && (
        <p class="calm">
          No waiting gangs. Closures with the same <code>gang</code> in their options start together or not at all.
        </p>
      )}
      <ul class="reasons">
        {gangs.map((g) => (
          <li key={`${g.job} ${g.gang}`} data-testid="gang" data-gang={g.gang}>
            <p>
              <Link to={closureAddress(g.first, g.job)}>
                <bdi>{g.gang}</bdi>
              </Link>{' '}
              <span class="soft">
                {count(g.here)} of {count(g.size)} closures of <bdi class="mono">{g.function}</bdi> in <JobLink id={g.job} /> are ready, waiting since <Ago ms={g.since_ms} />
              </span>
            </p>
            <p class={g.possible === false ? 'why text-error' : 'why'}>
              <Linked text={g.why} job={g.job} />
            </p>
          </li>
        ))}
      </ul>
      {!!looked.value?.more && <p class="foot">and {count(looked.value.more)} more</p>}
    </Panel>
  );
}

function UnmetDemand() {
  const looked = useLooked<{ wishes: Demand[]; complete?: boolean }>(api('wishes', { cluster: clusterQuery.value }));
  const wishes = looked.value?.wishes ?? [];
  return (
    <Panel id="wishes" title="Unmet demand" note="grouped by what the closures need" span={12}>
      <Problem text={looked.problem} />
      {looked.value && wishes.length === 0 && (
        <p class="calm">No unmet demand: every waiting closure could run on a connected worker. Closures that need labels or resources that no connected worker has are listed here.</p>
      )}
      <ul class="reasons">
        {wishes.map((w) => (
          <li key={needsText(w.needs) + w.first} data-testid="wish">
            <p>
              <bdi class="mono wrap">{needsText(w.needs)}</bdi>{' '}
              <span class="soft">
                {plural(w.queued, 'closure')} of <bdi class="mono wrap">{w.functions.join(', ')}</bdi> queued, since <Ago ms={w.since_ms} />;{' '}
                {w.workers > 0 ? `${plural(w.workers, 'worker')} suitable, but draining or cordoned` : 'no connected worker is suitable, even when idle'}
              </span>
            </p>
            <p class="why">
              <Linked text={w.why} job={w.job} />
            </p>
            <p class="foot">
              First closure: <ClosureLink id={w.first} job={w.job} /> of <JobLink id={w.job} />
            </p>
          </li>
        ))}
      </ul>
      {looked.value?.complete === false && <p class="foot">There are more closures that were not examined.</p>}
    </Panel>
  );
}
