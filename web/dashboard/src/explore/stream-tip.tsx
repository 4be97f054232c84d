import { age, count, duration, moment, plural, preciseClock } from '../shared/model/format';
import type { Stream } from './model/stream';
import type { Hit } from './model/stream-look';
import { STATES, SUCCEEDED } from './model/stream-protocol';
import type { Shape } from '../shared/model/shape';
import { Chip } from '../shared/shape';

const SHAPES: readonly Shape[] = ['connected', 'error', 'waiting', 'disconnected'];

export function closureOf(stream: Stream, hit: Hit | null): string {
  if (hit?.kind === 'bar') return stream.closures[hit.bar] ?? '';
  return hit?.kind === 'running' ? (hit.lane.running[hit.n]?.closure ?? '') : '';
}

// The server finds a closure without a record only through its job.
export function jobOf(stream: Stream, hit: Hit | null): string {
  if (hit?.kind === 'bar') return stream.jobs[hit.bar] ?? '';
  return hit?.kind === 'running' ? (hit.lane.running[hit.n]?.job ?? '') : '';
}

export function functionOf(stream: Stream, hit: Hit): string {
  const n = hit.kind === 'bar' ? stream.at.function[hit.bar]! : hit.kind === 'running' ? hit.lane.running[hit.n]?.function : hit.minute.function;
  return stream.functions[n ?? -1] ?? '';
}

export function StreamTip({ stream, hit, x, y, right }: { stream: Stream; hit: Hit; x: number; y: number; right: boolean }) {
  const style = { transform: `translate(${x + (right ? -12 : 12)}px, ${y}px)${right ? ' translateX(-100%)' : ''}` };
  return (
    <div class="tip" role="tooltip" id="stream-tip" data-testid="stream-tip" style={style}>
      <b class="mono clip">
        <bdi>{functionOf(stream, hit)}</bdi>
      </b>
      <Facts stream={stream} hit={hit} />
      <span class="soft">
        <bdi>{hit.lane.task}</bdi> · <time title={moment(hit.start)}>{preciseClock(hit.start)}</time>
      </span>
      {closureOf(stream, hit) && <span class="soft">click or press Enter to open {closureOf(stream, hit)}</span>}
    </div>
  );
}

function Facts({ stream, hit }: { stream: Stream; hit: Hit }) {
  if (hit.kind === 'running') return <span>running for {age(hit.end - hit.start)}</span>;
  if (hit.kind === 'minute') {
    const { count: n, failed, busy } = hit.minute;
    return (
      <span>
        {plural(n, 'closure')} in this minute, {failed > 0 && <b class="text-error">{count(failed)} failed, </b>}busy {duration(busy * 1000)}
      </span>
    );
  }
  const state = stream.at.state[hit.bar]!;
  const n = stream.at.count[hit.bar]!;
  const shape = SHAPES[state] ?? 'waiting';
  return (
    <Chip shape={shape} colour={state === SUCCEEDED ? '' : `text-${shape === 'waiting' ? 'disconnected' : shape}`}>
      {n > 1 ? `${plural(n, 'short closure')}, ` : ''}
      {n > 1 && state !== SUCCEEDED ? `${count(stream.at.failed[hit.bar]!)} failed` : (STATES[state] ?? 'ended')} {n > 1 ? 'within' : 'after'} {duration((hit.end - hit.start) * 1000)}
      {n > 1 && `, ${duration((stream.at.busy[hit.bar]! / n) * 1000)} each on average`}
    </Chip>
  );
}
