/** A place that keeps the height that it has had, for what is replaced by something lower: nothing below it moves up. */
import { type ReactNode, useLayoutEffect, useRef } from 'react';

export function KeptHeight({ children }: { readonly children: ReactNode }) {
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [place, contents] = [outer.current, inner.current];
    if (place === null || contents === null) return;
    let [width, height] = [0, 0];
    const observer = new ResizeObserver(() => {
      // At another width the text breaks elsewhere, and what was is no measure.
      height = place.clientWidth === width ? Math.max(height, contents.offsetHeight) : contents.offsetHeight;
      width = place.clientWidth;
      place.style.minHeight = `${height}px`;
    });
    observer.observe(contents);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={outer}>
      <div ref={inner}>{children}</div>
    </div>
  );
}
