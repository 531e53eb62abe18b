/** The numbers of a system call: on x64, and on arm64 where it has one. */
export type CallNumbers = readonly [x64: number, arm64?: number];

/**
 * What no program inside a sandbox needs. Most would fail there anyway for want of a capability; refusing them at the
 * door keeps their code in the kernel, where the holes are found, out of reach.
 */
export const DENIED: Readonly<Record<string, CallNumbers>> = {
  // Another view of the file system.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  // A file by a handle passes by every folder that would have said no.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  // New namespaces give new capabilities, and with them all of the above.
  unshare: [272, 97],
  setns: [308, 268],
  // Other code in the kernel.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  // get_mempolicy only asks, and allocators do ask.
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  // Keys are not in a namespace.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // The machine as a whole.
  reboot: [169, 142],
  syslog: [103, 116],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  // Hardware, and what is left of old kernels.
  iopl: [172],
  ioperm: [173],
  modify_ldt: [154],
  uselib: [134],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
};

/** Calls that depend on how they are made. */
export const JUDGED = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  personality: [135, 92],
} as const satisfies Readonly<Record<string, CallNumbers>>;

/**
 * The first number that these tables do not know. New calls have the same number everywhere, so one border is enough; on
 * x64 the numbers of the x32 world lie beyond it too.
 */
export const FIRST_UNKNOWN = 470;
