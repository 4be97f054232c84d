import { useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { slow, store } from './page';
import type { Series } from './model/history';
import { color, repaint } from './theme';

const WIDTH = 78;
const HEIGHT = 30;

export function Spark({ series, token }: { series: Series; token: string }) {
  const ref = useRef<HTMLCanvasElement>(null);
  useSignalEffect(() => {
    slow.value;
    repaint.value;
    if (ref.current) draw(ref.current, store.history.series[series], color(token));
  });
  return <canvas ref={ref} class="spark" aria-hidden="true" />;
}

function draw(canvas: HTMLCanvasElement, values: readonly number[], ink: string): void {
  const scale = devicePixelRatio;
  canvas.width = Math.round(WIDTH * scale);
  canvas.height = Math.round(HEIGHT * scale);
  const pen = canvas.getContext('2d');
  if (!pen || values.length < 2) return;
  pen.scale(scale, scale);
  let max = 1e-9;
  for (const value of values) max = Math.max(max, value);
  const x = (n: number) => 1 + (n / (values.length - 1)) * (WIDTH - 6);
  const y = (n: number) => HEIGHT - 4 - (values[n]! / max) * (HEIGHT - 8);
  pen.beginPath();
  for (let n = 0; n < values.length; ++n) pen.lineTo(x(n), y(n));
  pen.strokeStyle = pen.fillStyle = ink;
  pen.lineWidth = 1.25;
  pen.lineJoin = 'round';
  pen.stroke();
  pen.beginPath();
  pen.arc(x(values.length - 1), y(values.length - 1), 2, 0, 7);
  pen.fill();
}
