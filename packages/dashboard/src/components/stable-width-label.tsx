/** A changing label that is as wide as its widest possible text, so that nothing beside it moves. */

export interface StableWidthLabelProps {
  readonly text: string;
  /** All texts that the label can show. */
  readonly alternatives: readonly string[];
}

export function StableWidthLabel({ text, alternatives }: StableWidthLabelProps) {
  return (
    <span className="stable-width">
      <span>{text}</span>
      {alternatives.map((label) => (
        // Hidden from assistive technology, so that it does not become part of a button's name.
        <span key={label} className="stable-width-alternative" aria-hidden="true">
          {label}
        </span>
      ))}
    </span>
  );
}
