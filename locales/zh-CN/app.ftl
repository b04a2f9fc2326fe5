# 框架用语：名称、菜单、各页共用的词。
app-name = 算力租赁台账
days-left = { $n ->
    [0] 今天到期
    [1] 明天到期
   *[other] 还有 { $n } 天
 }
days-past = 已到期 { $n } 天
days-left-to-act = { $n ->
    [0] 今天截止
    [1] 明天截止
   *[other] 还有 { $n } 天
 }
days-overdue = 已逾期 { $n } 天
skip-to-content = 跳到正文
nav-label = 主菜单
nav-overview = 总览
nav-renewals = 到期续费
nav-environments = 环境
nav-ledger = 支出产出
nav-audit = 操作记录
nav-settings = 设置
act-sign-out = 退出登录
optional = 选填
field-reason = 原因
choose = 选一个…
language-zh-cn = 中文
language-en = 英文
choose-none = （不选）
form-has-errors = 还没有保存：看各栏旁边的提示。
export-as = 导出：
page-next = 下一页
saved-filters = 已存的筛选
saved-filters-lead = 你自己存下的列表筛选，显示为各列表上方的链接，别人在那里看不到。
saved-filters-edit = 重命名或移除已存的筛选
saved-filters-none = 还没有存过。先在列表上筛选，再在那里保存。
saved-filter-as = 把这个筛选存为
saved-filter-name = 筛选名称
saved-filter-save = 保存筛选
saved-filter-rename = 重命名
saved-filter-end = 移除
error-saved-filter-empty = 还没有筛选条件，请先选择或填写。
error-saved-filter-count = 你已存了 { $most } 个筛选，请先移除一个。
error-saved-filter-taken = 你已有名为“{ $name }”的筛选，请换一个名称。
error-saved-filter-act = 表单没有说明是保存、重命名还是移除。
error-saved-filter-list = “{ $value }”不是可以存筛选的列表：请打开列表，筛选后在那里保存。
