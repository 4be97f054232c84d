// Shows browser notifications for new, persistent alerts while the dashboard is in the background, and marks the tab
// icon.

import { outside } from '../shared/base';
import { effect, signal } from '@preact/signals';
import { Notices } from './model/notices';
import type { AttentionRow } from '../shared/model/protocol';
import { bare } from '../shared/model/ansi';
import { items, openItems, seen } from '../shared/seen';
import { go } from '../shared/route';
import { slow, store } from '../shared/page';
import { color, repaint } from '../shared/theme';
import { nameOfItem } from '../shared/model/alert-list';

const KEY = 'muster.notify';
const AT_ONCE = 3; // maximum of simultaneous notifications; the dashboard shows all alerts

// Browsers support notifications only with HTTPS and on localhost.
const there = typeof Notification !== 'undefined' && isSecureContext;
const wanted = signal(there && localStorage.getItem(KEY) === 'on' && Notification.permission === 'granted');
const denied = signal(false);

async function toggle(): Promise<void> {
  // Browsers allow the permission request only after a click.
  const on = !wanted.peek() && (await Notification.requestPermission()) === 'granted';
  denied.value = !on && Notification.permission === 'denied';
  wanted.value = on;
  localStorage.setItem(KEY, on ? 'on' : '');
}

export function NotifyButton() {
  if (!there) return null;
  const title = denied.value
    ? 'The browser blocks notifications from this page; allow them in the browser settings'
    : 'While this page is in the background, show a notification for each new ongoing alert that reports an error or a hang';
  return (
    <button type="button" data-testid="notify" aria-pressed={wanted.value} title={title} onClick={() => void toggle()}>
      {denied.value ? 'Notifications blocked' : wanted.value ? 'Notifications on' : 'Notify me'}
    </button>
  );
}

function tell(): void {
  const notices = new Notices();
  let first = true;
  let version = -1;
  setInterval(() => {
    if (store.seq('attention') === null) return;
    if (document.hidden && version !== store.attention.version) ++slow.value; // updates the title and icon of a hidden tab
    version = store.attention.version;
    const rows = items();
    if (first || !document.hidden || !wanted.peek()) {
      first = false;
      return notices.known(rows);
    }
    for (const row of notices.due(rows, seen.list.peek(), Date.now()).slice(0, AT_ONCE)) show(row);
  }, 1000);
}

function show(row: AttentionRow): void {
  try {
    // Several tabs together show only one notification.
    const notice = new Notification(row.title, { body: bare(row.detail), tag: nameOfItem(row), icon: outside('/icon.svg') });
    notice.onclick = () => {
      window.focus();
      if (row.link) go(row.link);
      notice.close();
    };
  } catch {
    wanted.value = false; // because mobile browsers require an installed app
    denied.value = true;
  }
}

const SIZE = 32;

// Draws a dot on the tab icon: red for an error, otherwise amber.
function badge(): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')!;
  const plain = link.href;
  const image = new Image(SIZE, SIZE);
  const ready = signal(false);
  image.onload = () => (ready.value = true);
  image.src = plain;
  let drawn = '';
  effect(() => {
    slow.value;
    const open = openItems();
    const worst = open.length === 0 ? '' : open.some((row) => row.severity === 'error') ? 'error' : 'late';
    const now = `${worst}${repaint.value}`;
    if (!ready.value || now === drawn) return;
    drawn = now;
    link.dataset.state = worst;
    if (!worst) {
      link.type = 'image/svg+xml';
      link.href = plain;
      return;
    }
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = SIZE;
    const pen = canvas.getContext('2d')!;
    pen.drawImage(image, 0, 0, SIZE, SIZE);
    for (const [token, radius] of [
      ['surface', 10],
      [worst, 8],
    ] as const) {
      pen.beginPath();
      pen.arc(SIZE - 9, 9, radius, 0, 7);
      pen.fillStyle = color(token);
      pen.fill();
    }
    link.type = 'image/png';
    link.href = canvas.toDataURL();
  });
}

export function startNotices(): void {
  tell();
  badge();
}
