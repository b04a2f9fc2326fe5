# 内置 PostgreSQL：正在做什么、在等什么、哪里不对、怎么办。

# ---- 进度
server-initialises = 正在创建数据库（PostgreSQL { $major }，来自 { $bindir }）
server-starts = 正在启动 PostgreSQL { $major }
server-recovers = PostgreSQL 正在恢复上次没写完的数据，异常中断之后可能要几分钟
server-ends-orphan = 正在停掉上次运行留下的 PostgreSQL
server-waits-for-earlier = 正在等上一个 PostgreSQL（进程 { $pid }）结束
server-waits-for-command = 有命令（进程 { $pid }）正在用数据库，等它做完
server-waits-for-start = 进程 { $pid } 正在启动数据库，等它启动好
server-waits-for-stop = 进程 { $pid } 正在停数据库，等它停好

# ---- 错误
server-error-io = { $path } 用不了：{ $cause }。用数据目录的所有者来运行 Rentroll，或者用 RENTROLL_DATA_DIR 另指一个目录。
server-error-closed = 运行 PostgreSQL 的用户 { $user } 进不了 { $ancestor }，到不了 { $below }。
    放开它：  chmod o+x { $ancestor }
    或者换到它外面：数据用 RENTROLL_DATA_DIR（例如 /var/lib/rentroll），PostgreSQL 的程序用 PG_BINDIR。
server-error-closed-to-us = 你进不了 { $ancestor }，到不了 { $below }。用 RENTROLL_DATA_DIR 另指一个目录，或者让人放开它：  chmod o+x { $ancestor }
server-error-foreign = { $path } 里的数据库属于用户 { $owner }。用这个用户或 root 来运行 Rentroll，或者用 RENTROLL_DATA_DIR 另指一个数据目录。
server-error-no-account = PostgreSQL 不能以 root 运行，而这个系统里既没有 postgres 用户也没有 nobody 用户。建一个（useradd --system postgres），或者用普通用户运行 Rentroll。
server-error-no-binaries = 没有安装 PostgreSQL。安装它：
    Debian、Ubuntu：  { $debian }
    Fedora：          { $fedora }
    macOS：           { $macos }
    或者用已有的服务器：  DATABASE_URL=postgres://user:password@host/database
server-error-no-binaries-of = 这个数据库是 PostgreSQL { $major } 建的，但没有安装这个版本。安装它：
    Debian、Ubuntu：  { $debian }
    Fedora：          { $fedora }
    macOS：           { $macos }
    或者用 PG_BINDIR 指出它的程序所在的目录。
server-error-too-old = { $bindir } 里的 PostgreSQL { $found } 太旧，Rentroll 要 { $oldest } 或更新的版本。安装它：
    Debian、Ubuntu：  { $debian }
    Fedora：          { $fedora }
    macOS：           { $macos }
    或者用已有的服务器：  DATABASE_URL=postgres://user:password@host/database
server-error-bindir = PG_BINDIR 写的是 { $path }，但那里的 PostgreSQL 程序运行不了：{ $cause }。要写有 postgres、initdb、pg_ctl 的目录，例如 /usr/lib/postgresql/15/bin，或者不写 PG_BINDIR。
server-error-older-data = 这个数据库是 PostgreSQL { $made_by } 建的，这里只有 { $found }（{ $bindir }），读不了它。什么都没有改动。
    想照旧用下去，就再装上 PostgreSQL { $made_by }，Rentroll 会自己找到。
    想把数据搬到 { $found }，就逐行执行：

    { $steps }

    然后再启动 Rentroll。确认数据都在之前，留着 postgres-{ $made_by } 目录和 carry-over.sql。
server-error-newer-data = 这个数据库是 PostgreSQL { $made_by } 建的，比这里的 { $found }（{ $bindir }）新，读不了。什么都没有改动。安装 PostgreSQL { $made_by }：
    Debian、Ubuntu：  { $debian }
    Fedora：          { $fedora }
    macOS：           { $macos }
    或者用 PG_BINDIR 指出它的程序所在的目录。
server-error-not-a-database = { $path } 里有文件，但不是 PostgreSQL 数据库。把它移开，或者用 RENTROLL_DATA_DIR 另指一个数据目录。
server-error-socket-dir = 数据库的套接字要放在 { $path }，但它属于别的用户，或者别人也能进。删掉它，或者用 RENTROLL_DATA_DIR 换一个路径短些的数据目录。
server-error-init = 数据库没有建成。initdb 的输出：
    { $output }
server-error-start = PostgreSQL 没有启动。日志 { $log } 里写的是：
    { $said }
server-error-blocked = 上一个 PostgreSQL（进程 { $pid }）还占着数据库，一直没有结束。看看它在做什么（ps -fp { $pid }），停掉它（kill -INT { $pid }），再启动。
server-error-already-serving = { $data_dir } 上已经有 rentroll serve 在运行（进程 { $pid }）。先停掉它，或者用 RENTROLL_DATA_DIR 另指一个数据目录。
server-error-silent = PostgreSQL 在运行，但没有回应。日志在 { $log }。
server-error-refused = 数据目录里的 PostgreSQL 拒绝了连接：{ $cause }。如果这个数据库不是 Rentroll 建的，用 RENTROLL_DATA_DIR 另指一个数据目录。

# ---- 任何数据库：版本、角色、迁移、设置
database-too-old = 数据库是 PostgreSQL { $found }，太旧，Rentroll 要 15 或更新的版本。
database-silent = 数据库没有回应。看看 DATABASE_URL 里的地址对不对，数据库有没有在运行。
database-unreachable = 连不上数据库：{ $cause }。看看 DATABASE_URL 里的地址对不对，数据库有没有在运行。
database-roles = 数据库用户“{ $login }”不能创建 Rentroll 要用的角色（{ $cause }）。把下面的语句交给数据库管理员执行，然后再启动：

    { $sql }
database-migration-failed = 迁移 { $name } 失败，它的改动都没有保留：{ $cause }
database-migration-changed = 迁移 { $name } 和这个数据库执行过的不一样。用之前的 Rentroll 版本，或者更新的版本。
database-migration-unknown = 这个数据库里有迁移 { $name }，这个版本的 Rentroll 不认识。换更新的版本。
database-migrations-failed = 迁移没有执行：{ $cause }
database-not-durable = 数据库关掉了 fsync 或 full_page_writes，可能丢掉已经确认的数据。在它的 postgresql.conf 里把两项都设为 on。
database-asynchronous = 数据库关掉了 synchronous_commit，可能丢掉已经确认的数据。在它的 postgresql.conf 里、对这个数据库和这个用户都设为 on。
database-powerful = 角色 { $role } 是超级用户，或者是表的所有者，行级安全挡不住它。Rentroll 以 rentroll_app 工作，它两样都不能是：alter role rentroll_app nosuperuser nobypassrls;
database-no-checksums = 数据库没有开数据校验，磁盘损坏会没人发现。停掉数据库后打开：pg_checksums --enable
database-clock = 数据库和这台机器的时钟相差 { $n } 秒。两边都用时间服务器校准。
