/** The navigation in a narrow window. */
import { Dialog } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { Icon } from '../components/icons.js';

interface DrawerProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export default function Drawer({ open, onClose, children }: DrawerProps) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => (next ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="drawer">
          <Dialog.Title className="visually-hidden">Navigation</Dialog.Title>
          <Dialog.Close className="button button-quiet drawer-close" aria-label="Close navigation">
            <Icon name="cross" />
          </Dialog.Close>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
