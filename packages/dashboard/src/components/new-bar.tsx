/** Says that there is something new, where it would push away what is being read. */
import { Icon } from './icons.js';

export function NewBar({ count, what, onShow }: { readonly count: number; readonly what: string; readonly onShow: () => void }) {
  return (
    <div className="new-bar" role="status">
      {count === 0 ? null : (
        <button type="button" className="button button-primary" onClick={onShow}>
          <Icon name="up" />
          Show {count} new
          <span className="visually-hidden"> {what}</span>
        </button>
      )}
    </div>
  );
}
