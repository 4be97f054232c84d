// Each state has its own shape, because some users cannot distinguish colours.

import type { ComponentChildren, JSX } from 'preact';
import type { TaskState } from './model/protocol';
import type { Shape } from './model/shape';

export const SHAPES: Record<TaskState, Shape> = {
  CONNECTED: 'connected',
  REGISTERING: 'restarting',
  LATE: 'late',
  DISCONNECTED: 'disconnected',
  ERROR: 'error',
};

export const WORDS: Record<TaskState, string> = {
  CONNECTED: 'Connected',
  REGISTERING: 'Registering',
  LATE: 'Late',
  DISCONNECTED: 'Disconnected',
  ERROR: 'Error',
};

const turn = () => <path d="M9.9 3.2A4.3 4.3 0 1 0 10.3 7M10.2.9v2.6H7.6" fill="none" stroke="currentColor" stroke-width="1.7" />;

// Functions, because Preact keeps the page on which an element was drawn first in memory as long as the element.
const drawings: Record<Shape, () => JSX.Element> = {
  connected: () => <circle cx="6" cy="6" r="4" fill="currentColor" />,
  late: () => <path d="M6 1.4 11.2 10.6H.8Z" fill="currentColor" />,
  running: () => <path d="M3 1.6 10.4 6 3 10.4Z" fill="currentColor" />,
  restarting: turn,
  'put-back': turn,
  error: () => <path d="M2.2 2.2 9.8 9.8M9.8 2.2 2.2 9.8" stroke="currentColor" stroke-width="2.4" />,
  disconnected: () => <circle cx="6" cy="6" r="3.8" fill="none" stroke="currentColor" stroke-width="1.9" />,
  waiting: () => <circle cx="6" cy="6" r="4" fill="currentColor" />,
};

export function Mark({ shape }: { shape: Shape }) {
  return (
    <svg class={`mark is-${shape}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {drawings[shape]()}
    </svg>
  );
}

interface ChipProps {
  shape: Shape;
  colour?: string;
  title?: string | undefined;
  children: ComponentChildren;
  [data: `data-${string}`]: string;
}

export function Chip({ shape, colour = `text-${shape}`, children, ...rest }: ChipProps) {
  return (
    <span class={`chip ${colour}`} {...rest}>
      <Mark shape={shape} /> {children}
    </span>
  );
}
