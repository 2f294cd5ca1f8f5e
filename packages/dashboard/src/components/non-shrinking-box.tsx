/** A box that never becomes shorter than its greatest height so far, so that nothing below it moves when its content shrinks. */
import { type ReactNode, useLayoutEffect, useRef } from 'react';

export function NonShrinkingBox({ children }: { readonly children: ReactNode }) {
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [box, contents] = [outer.current, inner.current];
    if (box === null || contents === null) return;
    let [width, height] = [0, 0];
    const observer = new ResizeObserver(() => {
      // At another width the text wraps differently, so the earlier height no longer applies.
      height = box.clientWidth === width ? Math.max(height, contents.offsetHeight) : contents.offsetHeight;
      width = box.clientWidth;
      box.style.minHeight = `${height}px`;
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
