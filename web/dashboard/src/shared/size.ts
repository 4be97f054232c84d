import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

// Returns the size of the content box in whole CSS pixels.
export function useSize(ref: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width);
      const height = Math.floor(entry!.contentRect.height);
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    });
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return size;
}
