import { nameOf } from '../shared/model/closures';
import { count, shortId } from '../shared/model/format';
import { Gone } from '../shared/gone';
import { slow, store } from '../shared/page';
import { Panel } from '../shared/panel';
import { ClosureChip } from '../shared/state';
import { CallActions, CallFacts, CallParts, useCall } from './call-parts';
import { useHeading } from '../shell/heading';
import { chosen, jobAddress, subject } from '../shared/route';

export function ClosurePage() {
  slow.value; // the jobs' names
  const { looked, why, again } = useCall(subject.value, chosen('job').value);
  const c = looked.value;
  useHeading(c ? `${nameOf(c)} #${c.index}` : subject.value, c ? { title: store.jobName(c.job) || shortId(c.job), href: jobAddress(c.job, { call: c.id }) } : undefined);
  return (
    <div class="panels">
      <Gone id="no-closure" what="closure" looked={looked} />
      {c && (
        <>
          <Panel id="closure" title={`${nameOf(c)} #${count(c.index)}`} note={<ClosureChip state={c.state} />} span={12} aside={<CallActions c={c} again={again} />}>
            <CallFacts c={c} why={why} />
          </Panel>
          <CallParts c={c} />
        </>
      )}
    </div>
  );
}
