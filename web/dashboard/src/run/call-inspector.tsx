import { nameOf } from '../shared/model/closures';
import { count } from '../shared/model/format';
import type { ClosureView } from '../shared/model/views';
import { Gone } from '../shared/gone';
import { ClosureChip } from '../shared/state';
import { closureAddress, follow } from '../shared/route';
import { CallActions, CallFacts, CallParts, useCall } from './call-parts';
import { neighbour, selectCall } from './inspect';
import { Inspector } from './run-frame';

// `rows` are the calls in the list, in its order.
export function CallInspector({ id, job, rows }: { id: string; job: string; rows: readonly ClosureView[] }) {
  const { looked, why, again } = useCall(id, job);
  const c = looked.value;
  const move = (by: number) => {
    const to = neighbour(rows, (row) => row.id === id, by);
    if (to) selectCall(to.id);
  };
  const page = (
    <a class="button" href={closureAddress(id, job)} onClick={follow} data-testid="call-page">
      Page
    </a>
  );
  return (
    <Inspector of={id} title={c ? `${nameOf(c)} #${count(c.index)}` : id} chip={c && <ClosureChip state={c.state} />} page={page} close={() => selectCall('')} move={move}>
      <Gone id="no-call" what="call" looked={looked} />
      {c && (
        <>
          <section class="panel">
            <CallFacts c={c} why={why} />
            <CallActions c={c} again={again} />
          </section>
          <CallParts c={c} beside />
        </>
      )}
    </Inspector>
  );
}
