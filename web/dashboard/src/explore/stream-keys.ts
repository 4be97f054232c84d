import type { Lane, Stream } from './model/stream';
import { nextHit, type Hit } from './model/stream-look';
import { spanOf } from '../shared/model/time-view';
import { currentView, liveEnd, pan, setFollow, show, zoom } from './stream-state';

export interface Pointed {
  lane: Lane;
  hit: Hit | null;
  x: number; // CSS pixels in the canvas
  y: number;
}

interface Keys {
  stream: Stream;
  lanes: readonly Lane[];
  laneHeight: number;
  width: number;
  focus: { value: Pointed | null };
  box: { current: HTMLDivElement | null };
  open(at: Pointed | null): void;
}

// Left and right move in time, or from bar to bar with shift; up and down move between lanes.
export function streamKeys({ stream, lanes, laneHeight, width, focus, box, open }: Keys) {
  const reveal = (n: number) => {
    const element = box.current!;
    if (n * laneHeight < element.scrollTop) element.scrollTop = n * laneHeight;
    else if ((n + 1) * laneHeight > element.scrollTop + element.clientHeight) element.scrollTop = (n + 1) * laneHeight - element.clientHeight;
  };
  const point = (n: number, hit: Hit | null) => {
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, n))];
    if (!lane) return;
    reveal(lanes.indexOf(lane));
    if (hit) setFollow(false);
    const view = currentView();
    if (hit && (hit.start < view.from || hit.start > view.to)) show({ from: hit.start - spanOf(view) / 2, to: hit.start + spanOf(view) / 2 });
    const now = currentView();
    const x = hit ? Math.max(0, Math.min(width, ((hit.start - now.from) / spanOf(now)) * width)) : 0;
    focus.value = { lane, hit, x, y: (lanes.indexOf(lane) + 1) * laneHeight - box.current!.scrollTop };
  };
  return (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = focus.value ? lanes.indexOf(focus.value.lane) : -1;
    const step = (forwards: boolean) => {
      const lane = lanes[Math.max(0, at)];
      if (!lane) return;
      const view = currentView();
      const from = focus.value?.hit?.start ?? (forwards ? view.from : view.to);
      const hit = nextHit(stream, lane, from, forwards, liveEnd(stream));
      if (hit) point(Math.max(0, at), hit);
    };
    switch (event.key) {
      case 'ArrowLeft':
        event.shiftKey ? step(false) : pan(-0.1);
        break;
      case 'ArrowRight':
        event.shiftKey ? step(true) : pan(0.1);
        break;
      case 'ArrowDown':
        point(at + 1, null);
        break;
      case 'ArrowUp':
        point(Math.max(0, at - 1), null);
        break;
      case '+':
      case '=':
        zoom(0.5);
        break;
      case '-':
        zoom(2);
        break;
      case 'f':
      case 'End':
        setFollow(true);
        break;
      case 'Enter':
        open(focus.value);
        break;
      case 'Escape':
        focus.value = null;
        break;
      default:
        return;
    }
    event.preventDefault();
  };
}
