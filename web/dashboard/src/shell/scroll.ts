// Restores the scroll position after "back". The browser's own restoration fails, because a page grows when its data
// arrives.

import { leaving } from '../shared/route';

const SETTLE_MS = 150;
const RESTORE_MS = 2000;

let scrolled: ReturnType<typeof setTimeout> | undefined;
let restoring = 0;

function keep(): void {
  clearTimeout(scrolled);
  if (restoring === 0) history.replaceState({ y: Math.round(scrollY) }, '');
}

function stop(): void {
  cancelAnimationFrame(restoring);
  restoring = 0;
}

function restore(): void {
  stop();
  clearTimeout(scrolled);
  const y = Number((history.state as { y?: number } | null)?.y ?? 0);
  const until = performance.now() + RESTORE_MS;
  const step = () => {
    if (Math.abs(scrollY - y) > 1 && document.documentElement.scrollHeight - innerHeight >= y) scrollTo(0, y);
    restoring = performance.now() < until ? requestAnimationFrame(step) : 0;
  };
  restoring = requestAnimationFrame(step);
}

// Must be called after startRouting, because the page must exist.
export function startKeepingPlace(): void {
  history.scrollRestoration = 'manual';
  leaving.now = keep;
  leaving.left = () => {
    stop();
    scrollTo(0, 0);
  };
  addEventListener('popstate', restore);
  const onScroll = () => {
    clearTimeout(scrolled);
    scrolled = setTimeout(keep, SETTLE_MS);
  };
  addEventListener('scroll', onScroll, { passive: true });
  for (const touch of ['wheel', 'pointerdown', 'touchstart', 'keydown']) addEventListener(touch, stop, { passive: true });
  if (history.state) restore(); // the page was reloaded
}
