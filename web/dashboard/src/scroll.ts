// Where one was on a page is restored by "back". The browser's own memory fails, as a page grows when its data arrive.

import { leaving } from './route';

const SETTLE_MS = 150;
const RESTORE_MS = 2000; // for so long a page has time to grow

let scrolled: ReturnType<typeof setTimeout> | undefined;
let restoring = 0; // the frame that is asked for; 0: none

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

// Call it after startRouting: the page of the address is then there before its place is restored.
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
  if (history.state) restore(); // the page was loaded again
}
