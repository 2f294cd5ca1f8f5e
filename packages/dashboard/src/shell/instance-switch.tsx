/** Menu that switches to another queue instance and stays on the same page. */
import { Menu } from '@base-ui/react/menu';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { instancesQuery, useInstance, useInstanceId } from '../api/instances.js';
import { Icon } from '../components/icons.js';

export function InstanceSwitch() {
  const instanceId = useInstanceId();
  const instance = useInstance();
  const { data: instances = [] } = useQuery(instancesQuery);
  const navigate = useNavigate();
  const switchTo = (id: string) => {
    // Filters and ids of this instance mean nothing in another one: open the page without them.
    const [, , , feature = 'overview'] = window.location.pathname.split('/');
    void navigate({ to: `/q/${id}/${feature}` });
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="button instance-switch">
        <span className="clip">
          <span className="visually-hidden">Queue instance: </span>
          {instance?.name ?? instanceId}
        </span>
        <Icon name="down" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="start" className="tooltip-positioner">
          <Menu.Popup className="popup">
            <Menu.RadioGroup value={instanceId} onValueChange={(id: string) => switchTo(id)}>
              {instances.map(({ id, name, region }) => (
                <Menu.RadioItem key={id} value={id} className="popup-item" closeOnClick>
                  <Menu.RadioItemIndicator keepMounted className="popup-check">
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                  <span className="clip">{name}</span>
                  <span className="muted nowrap">{region}</span>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
